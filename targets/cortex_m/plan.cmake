# What a host needs to prepare files for the family.
edgekit_plan(cortex_m_dsp SOURCES dsp/plan.c dsp/pack.c)
edgekit_plan(cortex_m_mve SOURCES mve/plan.c mve/pack.c)
edgekit_plan(cortex_m0 SOURCES m0/plan.c m0/pack.c)

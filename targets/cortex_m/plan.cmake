# What a host needs to prepare files for the family.
edgekit_plan(cortex_m_dsp SOURCES dsp/plan.c dsp/pack.c)

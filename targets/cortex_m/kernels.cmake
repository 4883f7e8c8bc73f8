# Kernel tables of the family; a build takes those that its target.toml names.
edgekit_kernels(cortex_m_dsp
  SOURCES dsp/table.c dsp/pack.c dsp/gemm_s8.c dsp/gemm_s8_loops.c dsp/depthwise_s8.c dsp/depthwise_s8_loops.c
  FLAGS -O2)

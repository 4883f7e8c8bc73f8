# Kernel tables of the family; a build takes those that its target.toml names. All have unpack_gemm_w4,
# which decodes and packs weights for gemm_s8 at once.
set(EDGEKIT_DECODES_FOR gemm_s8)
edgekit_kernels(cortex_m_dsp
  SOURCES dsp/table.c dsp/pack.c dsp/gemm_s8.c dsp/gemm_s8_loops.c dsp/unpack_w4.c dsp/row_w4.c dsp/vecmat_s8.c dsp/depthwise_s8.c dsp/depthwise_s8_loops.c
          dsp/elementwise_s8.c dsp/elementwise_s16.c dsp/gemm_s16.c dsp/gemm_s16_loops.c dsp/depthwise_s16.c dsp/row_w4_s16.c
  FLAGS -Os)
# Their assembly takes r7, in which clang would keep the frame pointer.
edgekit_kernels(cortex_m_mve
  SOURCES mve/table.c mve/pack.c mve/gemm_s8.c mve/unpack_w4.c mve/row_w4.c mve/vecmat_s8.c mve/depthwise_s8.c mve/elementwise_s8.c mve/elementwise_s16.c mve/lut_s8.c mve/lut_s16.c mve/pool_s8.c mve/copy.c
          mve/gemm_s16.c mve/depthwise_s16.c mve/row_w4_s16.c mve/quantize_f32.c
  FLAGS -O2 -fomit-frame-pointer)
edgekit_kernels(cortex_m0
  SOURCES m0/table.c m0/pack.c m0/gemm_s8.c m0/unpack_w4.c m0/row_w4.c m0/dot.c m0/depthwise_s8.c m0/arithmetic.c
  FLAGS -O2)

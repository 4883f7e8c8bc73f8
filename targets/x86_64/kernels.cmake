edgekit_kernels(x86_avx2
  SOURCES avx2/table.c avx2/gemm_s8.c avx2/gemm_f32.c avx2/depthwise_s8.c avx2/depthwise_f32.c
          avx2/elementwise_s8.c avx2/elementwise_s16.c avx2/lut_s8.c avx2/pool_s8.c avx2/gemm_s16.c avx2/mat_mul_s16.c
          avx2/vecmat_s8.c avx2/depthwise_s16.c avx2/quantize_f32.c
  FLAGS -mavx2 -mfma)
edgekit_kernels(x86_avx512vnni
  SOURCES avx512/table.c avx512/gemm_s8.c avx512/gemm_s16.c avx512/gemm_f32.c avx512/depthwise_s8.c
          avx512/depthwise_f32.c avx512/elementwise_s8.c avx512/lut_s8.c avx512/pool_s8.c avx512/quantize_f32.c
  FLAGS -mavx512f -mavx512bw -mavx512vl -mavx512dq -mavx512vnni -mfma)

edgekit_kernels(hexagon_hvx
  SOURCES hvx/table.c hvx/gemm_s8.c hvx/gemm_rows.c hvx/gemm_s16.c hvx/depthwise_s8.c hvx/depthwise_s16.c hvx/depthwise_pack.c
          hvx/elementwise_s8.c hvx/lut_s8.c hvx/elementwise_s16.c hvx/pool_s8.c
  FLAGS -O2)
# gemm_s8 takes rows in parts: convolution on lines.
target_compile_definitions(edgekit PRIVATE EK_CONV_LINES)

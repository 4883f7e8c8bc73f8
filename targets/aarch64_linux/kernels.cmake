# Kernel tables of the family, best last; the better ones take over what they do not do better.
# Scheduling before registers are given out spills accumulators; the scheduling after it remains.
set(neon neon/gemm_s8.c neon/gemm_f32.c neon/depthwise_s8.c neon/depthwise_f32.c neon/gemm_s16.c neon/vecmat_s8.c
         neon/depthwise_s16.c neon/elementwise_s8.c
         neon/lut_s8.c neon/pool_s8.c neon/quantize_f32.c)
edgekit_kernels(aarch64_neon SOURCES neon/table.c ${neon} FLAGS -O2 $<$<C_COMPILER_ID:GNU>:-fno-schedule-insns>)
edgekit_kernels(aarch64_dotprod
  SOURCES dotprod/table.c dotprod/gemm_s8.c dotprod/depthwise_s8.c
  FLAGS -O2 $<$<C_COMPILER_ID:GNU>:-fno-schedule-insns> -march=armv8.2-a+dotprod)
edgekit_kernels(aarch64_i8mm
  SOURCES i8mm/table.c i8mm/gemm_s8.c
  FLAGS -O2 $<$<C_COMPILER_ID:GNU>:-fno-schedule-insns> -march=armv8.2-a+dotprod+i8mm)

# Their gemm_s8 takes rows in parts: convolution on lines.
target_compile_definitions(edgekit PRIVATE EK_CONV_LINES)

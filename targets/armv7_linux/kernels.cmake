# Kernel tables of the family, best last. The sources are those of AArch64's NEON; a table of 256 bytes
# does not fit ARMv7's registers, so lut_s8 and channel_lut_s8 stay the portable ones.
# Scheduling before registers are given out spills accumulators; the scheduling after it remains.
set(neon ../aarch64_linux/neon)
edgekit_kernels(armv7_neon
  SOURCES table.c ${neon}/gemm_s8.c ${neon}/gemm_f32.c ${neon}/depthwise_s8.c ${neon}/depthwise_f32.c
          ${neon}/gemm_s16.c ${neon}/vecmat_s8.c ${neon}/depthwise_s16.c
          ${neon}/elementwise_s8.c ${neon}/pool_s8.c ${neon}/quantize_f32.c
  FLAGS -O2 $<$<C_COMPILER_ID:GNU>:-fno-schedule-insns>)

# Their gemm_s8 takes rows in parts: convolution on lines.
target_compile_definitions(edgekit PRIVATE EK_CONV_LINES)

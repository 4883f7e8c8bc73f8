#include "../avx2/table.h"
#include "kernels.h"

/* __builtin_cpu_supports also asks whether the OS saves the wide registers. */
static bool supported(void)
{
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512vnni") && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}

static const ek_kernels kernels = {
    EK_AVX2_KERNELS,
    .name = "x86_avx512vnni",
    .gemm_s8_rows = 48,
    .gemm_s16_rows = 48,
    .gemm_f32_rows = 48,
    .gemm_s8 = ek_avx512_gemm_s8,
    .packed_gemm_s8 = ek_avx512_packed_gemm_s8,
    .pack_gemm_s8 = ek_avx512_pack_gemm_s8,
    .gemm_s16 = ek_avx512_gemm_s16,
    .gemm_f32 = ek_avx512_gemm_f32,
    .packed_gemm_f32 = ek_avx512_packed_gemm_f32,
    .pack_gemm_f32 = ek_avx512_pack_gemm_f32,
    .depthwise_s8 = ek_avx512_depthwise_s8,
    .packed_depthwise_s8 = ek_avx512_packed_depthwise_s8,
    .pack_depthwise_s8 = ek_avx512_pack_depthwise_s8,
    .depthwise_f32 = ek_avx512_depthwise_f32,
    .add_s8 = ek_avx512_add_s8,
    .mul_s8 = ek_avx512_mul_s8,
    .lut_s8 = ek_avx512_lut_s8,
    .channel_lut_s8 = ek_avx512_channel_lut_s8,
    .prelu_s8 = ek_avx512_prelu_s8,
    .sum_s8 = ek_avx512_sum_s8,
    .max_s8 = ek_avx512_max_s8,
    .quantize_f32_s8 = ek_avx512_quantize_f32_s8,
    .quantize_f32_s16 = ek_avx512_quantize_f32_s16,
};

const ek_target ek_target_x86_avx512vnni = { &kernels, supported };

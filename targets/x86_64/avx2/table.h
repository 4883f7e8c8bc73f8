/* What the tables of all CPUs with AVX2 start from. */
#ifndef EK_X86_AVX2_TABLE_H
#define EK_X86_AVX2_TABLE_H

#include "edgekit/target.h"
#include "kernels.h"
#include "kernels_ref/reference.h"

/* clang-format off */
#define EK_AVX2_KERNELS                                 \
    EK_REFERENCE_KERNELS,                               \
    .unpacks_w4_at_load = true,                         \
    .gemm_s8_rows = 24,                                 \
    .gemm_s16_rows = 24,                                \
    .gemm_f32_rows = 24,                                \
    .gemm_s8 = ek_avx2_gemm_s8,                         \
    .packed_gemm_s8 = ek_avx2_packed_gemm_s8,           \
    .pack_gemm_s8 = ek_avx2_pack_gemm_s8,               \
    .gemm_s16 = ek_avx2_gemm_s16,                       \
    .packed_gemm_s16 = ek_avx2_packed_gemm_s8,          \
    .pack_gemm_s16 = ek_avx2_pack_gemm_s8,              \
    .mat_mul_s16 = ek_avx2_mat_mul_s16,                 \
    .vecmat_s8 = ek_avx2_vecmat_s8,                     \
    .gemm_f32 = ek_avx2_gemm_f32,                       \
    .packed_gemm_f32 = ek_avx2_packed_gemm_f32,         \
    .pack_gemm_f32 = ek_avx2_pack_gemm_f32,             \
    .depthwise_s8 = ek_avx2_depthwise_s8,               \
    .packed_depthwise_s8 = ek_avx2_packed_depthwise_s8, \
    .pack_depthwise_s8 = ek_avx2_pack_depthwise_s8,     \
    .depthwise_s16 = ek_avx2_depthwise_s16,             \
    .depthwise_f32 = ek_avx2_depthwise_f32,             \
    .add_s8 = ek_avx2_add_s8,                           \
    .mul_s8 = ek_avx2_mul_s8,                           \
    .add_s16 = ek_avx2_add_s16,                         \
    .mul_s16 = ek_avx2_mul_s16,                         \
    .lut_s8 = ek_avx2_lut_s8,                           \
    .lut_s16 = ek_avx2_lut_s16,                         \
    .channel_lut_s8 = ek_avx2_channel_lut_s8,           \
    .channel_lut_s16 = ek_avx2_channel_lut_s16,         \
    .prelu_s8 = ek_avx2_prelu_s8,                       \
    .sum_s8 = ek_avx2_sum_s8,                           \
    .max_s8 = ek_avx2_max_s8,                           \
    .quantize_f32_s8 = ek_avx2_quantize_f32_s8,         \
    .quantize_f32_s16 = ek_avx2_quantize_f32_s16
/* clang-format on */

#endif

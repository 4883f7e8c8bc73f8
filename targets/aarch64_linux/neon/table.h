/* What the tables of all cores with NEON start from. */
#ifndef EK_NEON_TABLE_H
#define EK_NEON_TABLE_H

#include "edgekit/target.h"
#include "kernels.h"
#include "kernels_ref/reference.h"

/* clang-format off */
#define EK_NEON_KERNELS                                                         \
    EK_REFERENCE_KERNELS,                                                       \
    .unpacks_w4_at_load = true,                                                 \
    .gemm_s8_rows = 48,                                                         \
    .gemm_s16_rows = 48,                                                        \
    .gemm_f32_rows = 48,                                                        \
    .gemm_s8_parts = 8,                                                         \
    .vecmat_s8_rows = 12,                                                       \
    .gemm_s8 = ek_neon_gemm_s8,                                                 \
    .packed_gemm_s8 = ek_neon_packed_gemm_s8,                                   \
    .pack_gemm_s8 = EK_SLOT(pack_gemm_s8, ek_neon_pack_gemm_s8),                \
    .gemm_s16 = ek_neon_gemm_s16,                                               \
    .mat_mul_s16 = ek_neon_mat_mul_s16,                                         \
    .vecmat_s8 = ek_neon_vecmat_s8,                                             \
    .gemm_f32 = ek_neon_gemm_f32,                                               \
    .packed_gemm_f32 = ek_neon_packed_gemm_f32,                                 \
    .pack_gemm_f32 = EK_SLOT(pack_gemm_f32, ek_neon_pack_gemm_f32),             \
    .depthwise_s8 = ek_neon_depthwise_s8,                                       \
    .packed_depthwise_s8 = ek_neon_packed_depthwise_s8,                         \
    .pack_depthwise_s8 = EK_SLOT(pack_depthwise_s8, ek_neon_pack_depthwise_s8), \
    .depthwise_s16 = ek_neon_depthwise_s16,                                     \
    .depthwise_f32 = ek_neon_depthwise_f32,                                     \
    .add_s8 = ek_neon_add_s8,                                                   \
    .mul_s8 = ek_neon_mul_s8,                                                   \
    .lut_s8 = ek_neon_lut_s8,                                                   \
    .channel_lut_s8 = ek_neon_channel_lut_s8,                                   \
    .sum_s8 = ek_neon_sum_s8,                                                   \
    .max_s8 = ek_neon_max_s8,                                                   \
    .quantize_f32_s8 = ek_neon_quantize_f32_s8,                                 \
    .quantize_f32_s16 = ek_neon_quantize_f32_s16
/* clang-format on */

#endif

/* The portable kernels, one by one, and as initializer for a table that replaces some of them:
 *     static const ek_kernels mine = { EK_REFERENCE_KERNELS, .name = "mine", .gemm_s8 = mine_gemm };
 */
#ifndef EK_KERNELS_REFERENCE_H
#define EK_KERNELS_REFERENCE_H

#include "edgekit/kernels.h"
#include "edgekit/slots.h"

ek_gemm_s8_fn ek_gemm_s8_ref;
ek_row_w4_fn ek_row_w4_ref;
ek_row_w4_s16_fn ek_row_w4_s16_ref;
ek_gemm_s16_fn ek_gemm_s16_ref;
ek_mat_mul_s16_fn ek_mat_mul_s16_ref;
ek_gemm_f32_fn ek_gemm_f32_ref;
ek_depthwise_s8_fn ek_depthwise_s8_ref;
ek_depthwise_s16_fn ek_depthwise_s16_ref;
ek_depthwise_f32_fn ek_depthwise_f32_ref;
ek_add_s8_fn ek_add_s8_ref;
ek_add_s16_fn ek_add_s16_ref;
ek_mul_s8_fn ek_mul_s8_ref;
ek_lut_s8_fn ek_lut_s8_ref;
ek_channel_lut_s8_fn ek_channel_lut_s8_ref;
ek_sum_s8_fn ek_sum_s8_ref;
ek_max_s8_fn ek_max_s8_ref;
ek_quantize_f32_s8_fn ek_quantize_f32_s8_ref;
ek_quantize_f32_s16_fn ek_quantize_f32_s16_ref;

/* clang-format off */
#define EK_REFERENCE_KERNELS                                            \
    .name = "ref",                                                      \
    .gemm_s8_rows = 2,                                                  \
    .gemm_s16_rows = 2,                                                 \
    .gemm_f32_rows = 4,                                                 \
    .gemm_s8 = EK_SLOT_gemm_s8(ek_gemm_s8_ref),                         \
    .row_w4 = EK_SLOT_row_w4(ek_row_w4_ref),                            \
    .row_w4_s16 = EK_SLOT_row_w4_s16(ek_row_w4_s16_ref),                \
    .gemm_s16 = EK_SLOT_gemm_s16(ek_gemm_s16_ref),                      \
    .mat_mul_s16 = EK_SLOT_mat_mul_s16(ek_mat_mul_s16_ref),             \
    .gemm_f32 = EK_SLOT_gemm_f32(ek_gemm_f32_ref),                      \
    .depthwise_s8 = EK_SLOT_depthwise_s8(ek_depthwise_s8_ref),          \
    .depthwise_s16 = EK_SLOT_depthwise_s16(ek_depthwise_s16_ref),       \
    .depthwise_f32 = EK_SLOT_depthwise_f32(ek_depthwise_f32_ref),       \
    .add_s8 = EK_SLOT_add_s8(ek_add_s8_ref),                            \
    .add_s16 = EK_SLOT_add_s16(ek_add_s16_ref),                         \
    .mul_s8 = EK_SLOT_mul_s8(ek_mul_s8_ref),                            \
    .lut_s8 = EK_SLOT_lut_s8(ek_lut_s8_ref),                            \
    .channel_lut_s8 = EK_SLOT_channel_lut_s8(ek_channel_lut_s8_ref),    \
    .sum_s8 = EK_SLOT_sum_s8(ek_sum_s8_ref),                            \
    .max_s8 = EK_SLOT_max_s8(ek_max_s8_ref),                            \
    .quantize_f32_s8 = EK_SLOT_quantize_f32_s8(ek_quantize_f32_s8_ref), \
    .quantize_f32_s16 = EK_SLOT_quantize_f32_s16(ek_quantize_f32_s16_ref)
/* clang-format on */

#endif

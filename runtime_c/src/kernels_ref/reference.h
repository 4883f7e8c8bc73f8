/* The portable kernels, one by one, and as initializer for a table that replaces some of them:
 *     static const ek_kernels mine = { EK_REFERENCE_KERNELS, .name = "mine", .gemm_s8 = mine_gemm };
 */
#ifndef EK_KERNELS_REFERENCE_H
#define EK_KERNELS_REFERENCE_H

#include "edgekit/kernels.h"
#include "edgekit/slots.h"

void ek_gemm_s8_ref(int8_t *out, size_t out_step, const int8_t *a, size_t a_step, size_t rows, const ek_gemm_s8 *g);
void ek_gemm_s16_ref(int16_t *out, size_t out_step, const int16_t *a, size_t a_step, size_t rows, const ek_gemm_s16 *g);
void ek_mat_mul_s16_ref(int16_t *out, const int16_t *a, size_t rows, const ek_mat_mul_s16 *m);
void ek_gemm_f32_ref(float *out, size_t out_step, const float *a, size_t a_step, size_t rows, const ek_gemm_f32 *g);
void ek_depthwise_s8_ref(int8_t *out, size_t out_step, const int8_t *const *taps, size_t in_step, size_t pixels,
                         const ek_depthwise_s8 *d);
void ek_depthwise_s16_ref(int16_t *out, size_t out_step, const int16_t *const *taps, size_t in_step, size_t pixels,
                          const ek_depthwise_s16 *d);
void ek_depthwise_f32_ref(float *out, size_t out_step, const float *const *taps, size_t in_step, size_t pixels,
                          const ek_depthwise_f32 *d);
void ek_add_s8_ref(int8_t *out, const int8_t *a, const int8_t *b, size_t b_step, size_t count, const ek_add_s8 *p);
void ek_mul_s8_ref(int8_t *out, const int8_t *a, const int8_t *b, size_t b_step, size_t count, const ek_mul_s8 *p);
void ek_lut_s8_ref(int8_t *out, const int8_t *in, size_t count, const int8_t *table);
void ek_sum_s8_ref(int32_t *acc, const int8_t *in, size_t step, size_t count, size_t c);
void ek_max_s8_ref(int8_t *out, const int8_t *in, size_t step, size_t count, size_t c);

#define EK_REFERENCE_KERNELS                                                                               \
    .name = "ref", .gemm_s8_rows = 2, .gemm_s16_rows = 2, .gemm_f32_rows = 4,                              \
    .gemm_s8 = EK_SLOT_gemm_s8(ek_gemm_s8_ref), .gemm_s16 = EK_SLOT_gemm_s16(ek_gemm_s16_ref),             \
    .mat_mul_s16 = EK_SLOT_mat_mul_s16(ek_mat_mul_s16_ref), .gemm_f32 = EK_SLOT_gemm_f32(ek_gemm_f32_ref), \
    .depthwise_s8 = EK_SLOT_depthwise_s8(ek_depthwise_s8_ref),                                             \
    .depthwise_s16 = EK_SLOT_depthwise_s16(ek_depthwise_s16_ref),                                          \
    .depthwise_f32 = EK_SLOT_depthwise_f32(ek_depthwise_f32_ref), .add_s8 = EK_SLOT_add_s8(ek_add_s8_ref), \
    .mul_s8 = EK_SLOT_mul_s8(ek_mul_s8_ref), .lut_s8 = EK_SLOT_lut_s8(ek_lut_s8_ref),                      \
    .sum_s8 = EK_SLOT_sum_s8(ek_sum_s8_ref), .max_s8 = EK_SLOT_max_s8(ek_max_s8_ref)

#endif

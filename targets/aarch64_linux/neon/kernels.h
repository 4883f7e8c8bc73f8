#ifndef EK_NEON_KERNELS_H
#define EK_NEON_KERNELS_H

#include "edgekit/kernels.h"

void ek_neon_gemm_s8(int8_t *out, size_t out_step, const int8_t *a, size_t a_step, size_t rows, const ek_gemm_s8 *g);
size_t ek_neon_packed_gemm_s8(uint32_t n, uint32_t k);
void ek_neon_pack_gemm_s8(void *packed, const int8_t *weights, const int32_t *bias, uint32_t n, uint32_t k);
void ek_neon_gemm_f32(float *out, size_t out_step, const float *a, size_t a_step, size_t rows, const ek_gemm_f32 *g);
size_t ek_neon_packed_gemm_f32(uint32_t n, uint32_t k);
void ek_neon_pack_gemm_f32(void *packed, const float *weights, uint32_t n, uint32_t k);
void ek_neon_depthwise_s8(int8_t *out, size_t out_step, const int8_t *const *taps, size_t in_step, size_t pixels,
                          const ek_depthwise_s8 *d);
size_t ek_neon_packed_depthwise_s8(uint32_t taps, uint32_t c);
void ek_neon_pack_depthwise_s8(void *packed, const ek_depthwise_s8 *d);
void ek_neon_depthwise_f32(float *out, size_t out_step, const float *const *taps, size_t in_step, size_t pixels,
                           const ek_depthwise_f32 *d);
void ek_neon_add_s8(int8_t *out, const int8_t *a, const int8_t *b, size_t b_step, size_t count, const ek_add_s8 *p);
void ek_neon_mul_s8(int8_t *out, const int8_t *a, const int8_t *b, size_t b_step, size_t count, const ek_mul_s8 *p);
void ek_neon_lut_s8(int8_t *out, const int8_t *in, size_t count, const int8_t *table);
void ek_neon_sum_s8(int32_t *acc, const int8_t *in, size_t step, size_t count, size_t c);
void ek_neon_max_s8(int8_t *out, const int8_t *in, size_t step, size_t count, size_t c);
void ek_neon_gemm_s16(int16_t *out, size_t out_step, const int16_t *a, size_t a_step, size_t rows,
                      const ek_gemm_s16 *g);
void ek_neon_mat_mul_s16(int16_t *out, const int16_t *a, size_t rows, const ek_mat_mul_s16 *m);
void ek_neon_depthwise_s16(int16_t *out, size_t out_step, const int16_t *const *taps, size_t in_step, size_t pixels,
                           const ek_depthwise_s16 *d);

#endif

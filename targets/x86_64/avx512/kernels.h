#ifndef EK_X86_AVX512_KERNELS_H
#define EK_X86_AVX512_KERNELS_H

#include <string.h>

#include "edgekit/kernels.h"

/* Packed weights: a header whose first word says where the rest starts, 64-byte aligned if memory
 * stays where it was packed. They may come in a hostile file: no word of theirs leads further than
 * the size that was asked for. */
enum { EK_PACKED_HEADER = 16, EK_PACKED_LINE = 64 };

static inline size_t ek_packed_start(const void *packed)
{
    uint32_t start;
    memcpy(&start, packed, sizeof start);
    return EK_PACKED_HEADER + ((start - EK_PACKED_HEADER) & (EK_PACKED_LINE - EK_PACKED_HEADER));
}

void ek_avx512_gemm_s8(int8_t *out, size_t out_step, const int8_t *a, size_t a_step, size_t rows, const ek_gemm_s8 *g);
size_t ek_avx512_packed_gemm_s8(uint32_t n, uint32_t k);
void ek_avx512_pack_gemm_s8(void *packed, const int8_t *weights, const int32_t *bias, uint32_t n, uint32_t k);
void ek_avx512_gemm_f32(float *out, size_t out_step, const float *a, size_t a_step, size_t rows, const ek_gemm_f32 *g);
size_t ek_avx512_packed_gemm_f32(uint32_t n, uint32_t k);
void ek_avx512_pack_gemm_f32(void *packed, const float *weights, uint32_t n, uint32_t k);
void ek_avx512_depthwise_s8(int8_t *out, size_t out_step, const int8_t *const *taps, size_t in_step, size_t pixels,
                            const ek_depthwise_s8 *d);
size_t ek_avx512_packed_depthwise_s8(uint32_t taps, uint32_t c);
void ek_avx512_pack_depthwise_s8(void *packed, const ek_depthwise_s8 *d);
void ek_avx512_depthwise_f32(float *out, size_t out_step, const float *const *taps, size_t in_step, size_t pixels,
                             const ek_depthwise_f32 *d);
void ek_avx512_add_s8(int8_t *out, const int8_t *a, const int8_t *b, size_t b_step, size_t count, const ek_add_s8 *p);
void ek_avx512_mul_s8(int8_t *out, const int8_t *a, const int8_t *b, size_t b_step, size_t count, const ek_mul_s8 *p);
void ek_avx512_lut_s8(int8_t *out, const int8_t *in, size_t count, const int8_t *table);
void ek_avx512_sum_s8(int32_t *acc, const int8_t *in, size_t step, size_t count, size_t c);
void ek_avx512_max_s8(int8_t *out, const int8_t *in, size_t step, size_t count, size_t c);

#endif

/* Kernels for cores with Helium (MVE), and the layouts that packing and kernels agree on. */
#ifndef EK_CORTEX_M_MVE_KERNELS_H
#define EK_CORTEX_M_MVE_KERNELS_H

#include "edgekit/kernels.h"

enum {
    EK_MVE_GEMM_ROWS = 12,
    EK_MVE_GEMM_ROWS16 = 6,
    EK_MVE_COLUMNS = 4,  /* channels of a gemm block */
    EK_MVE_DEPTH = 16,   /* k of a chunk: a vector */
    EK_MVE_DEPTH16 = 8,  /* the same of gemm_s16 */
    EK_MVE_CHANNELS = 16 /* channels of a depthwise block */
};

/* gemm_s8: blocks of 4 channels, filled up with zeros: [chunks][4][16] weights, then 4 biases. */
static inline uint32_t ek_mve_chunks(uint32_t k)
{
    return k / EK_MVE_DEPTH + (k % EK_MVE_DEPTH != 0);
}

static inline size_t ek_mve_gemm_block(uint32_t k)
{
    return (size_t)ek_mve_chunks(k) * EK_MVE_COLUMNS * EK_MVE_DEPTH + EK_MVE_COLUMNS * sizeof(int32_t);
}

/* gemm_s16: this, then blocks as of gemm_s8: [chunks][4][8] weights, then 4 biases. */
typedef struct ek_mve_gemm16 {
    uint32_t wide, unused[3]; /* wide: an accumulator may not fit int32 */
} ek_mve_gemm16;

static inline uint32_t ek_mve_chunks16(uint32_t k)
{
    return k / EK_MVE_DEPTH16 + (k % EK_MVE_DEPTH16 != 0);
}

static inline size_t ek_mve_gemm_block16(uint32_t k)
{
    return (size_t)ek_mve_chunks16(k) * EK_MVE_COLUMNS * EK_MVE_DEPTH16 + EK_MVE_COLUMNS * sizeof(int32_t);
}

/* depthwise_s8: this, then blocks of 16 channels. */
typedef struct ek_mve_depthwise {
    uint32_t any_left;  /* a shift is positive */
    uint32_t extreme;   /* a weight is -128: sums of two products may not fit int16 */
    uint32_t unused[2]; /* 0 */
} ek_mve_depthwise;

/* The four vectors of each constant hold channels 4 i, 4 i + 2, 4 i + 1 and 4 i + 3, as widening a product
 * twice deals them out. Shifts are as in ek_requant. */
typedef struct ek_mve_scales {
    int32_t multiplier[4][4];
    int8_t shift[4][4];
} ek_mve_scales;

/* A block is bias[4][4], int8 weights [taps][16], ek_mve_scales. */
static inline size_t ek_mve_depthwise_block(uint32_t taps)
{
    return EK_MVE_CHANNELS * sizeof(int32_t) + (size_t)taps * EK_MVE_CHANNELS + sizeof(ek_mve_scales);
}

/* Where channel j of a block stands in those vectors. */
static inline uint32_t ek_mve_place(uint32_t j)
{
    return (j % 2 * 2 + j / 2 % 2) * 4 + j / 4;
}

/* Fewer channels that divide 16 are packed as many times as fit: pixels that are neighbours then are
 * one run of channels. */
static inline uint32_t ek_mve_period(uint32_t c)
{
    return c < EK_MVE_CHANNELS && EK_MVE_CHANNELS % c == 0 ? EK_MVE_CHANNELS : c;
}

/* pack.c: portable, also for the host that prepares files. */
size_t ek_mve_packed_gemm_s8(uint32_t n, uint32_t k);
void ek_mve_pack_gemm_s8(void *packed, const int8_t *weights, const int32_t *bias, uint32_t n, uint32_t k);
size_t ek_mve_packed_gemm_s16(uint32_t n, uint32_t k);
void ek_mve_pack_gemm_s16(void *packed, const int8_t *weights, const int32_t *bias, uint32_t n, uint32_t k);
size_t ek_mve_packed_depthwise_s8(uint32_t taps, uint32_t c);
void ek_mve_pack_depthwise_s8(void *packed, const ek_depthwise_s8 *d);

void ek_mve_gemm_s8(int8_t *out, size_t out_step, const int8_t *a, size_t a_step, size_t rows, const ek_gemm_s8 *g);
void ek_mve_gemm_s16(int16_t *out, size_t out_step, const int16_t *a, size_t a_step, size_t rows, const ek_gemm_s16 *g);
void ek_mve_depthwise_s8(int8_t *out, size_t out_step, const int8_t *const *taps, size_t in_step, size_t pixels,
                         const ek_depthwise_s8 *d);
void ek_mve_add_s8(int8_t *out, const int8_t *a, const int8_t *b, size_t b_step, size_t count, const ek_add_s8 *p);
void ek_mve_mul_s8(int8_t *out, const int8_t *a, const int8_t *b, size_t b_step, size_t count, const ek_mul_s8 *p);
void ek_mve_lut_s8(int8_t *out, const int8_t *in, size_t count, const int8_t *table);
void ek_mve_sum_s8(int32_t *acc, const int8_t *in, size_t step, size_t count, size_t c);
void ek_mve_max_s8(int8_t *out, const int8_t *in, size_t step, size_t count, size_t c);
void ek_mve_copy(uint8_t *to, size_t to_step, const uint8_t *from, size_t from_step, size_t n, size_t count);
void ek_mve_depthwise_s16(int16_t *out, size_t out_step, const int16_t *const *taps, size_t in_step, size_t pixels,
                          const ek_depthwise_s16 *d);

#endif

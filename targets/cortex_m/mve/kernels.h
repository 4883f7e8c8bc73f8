/* Kernels for cores with Helium (MVE), and the layouts that packing and kernels agree on. */
#ifndef EK_CORTEX_M_MVE_KERNELS_H
#define EK_CORTEX_M_MVE_KERNELS_H

#include "edgekit/kernels.h"

enum {
    EK_MVE_GEMM_ROWS = 12,
    EK_MVE_GEMM_ROWS16 = 6,
    EK_MVE_W4_BLOCK = 2048,
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
ek_packed_fn ek_mve_packed_gemm_s8;
ek_pack_gemm_fn ek_mve_pack_gemm_s8;
ek_packed_fn ek_mve_packed_gemm_s16;
ek_pack_gemm_fn ek_mve_pack_gemm_s16;
ek_packed_fn ek_mve_packed_depthwise_s8;
ek_pack_depthwise_s8_fn ek_mve_pack_depthwise_s8;

ek_gemm_s8_fn ek_mve_gemm_s8;
ek_unpack_gemm_w4_fn ek_mve_unpack_gemm_w4;
ek_row_w4_fn ek_mve_row_w4;
ek_row_w4_s16_fn ek_mve_row_w4_s16;
ek_vecmat_s8_fn ek_mve_vecmat_s8;
ek_gemm_s16_fn ek_mve_gemm_s16;
ek_depthwise_s8_fn ek_mve_depthwise_s8;
ek_add_s8_fn ek_mve_add_s8;
ek_add_s16_fn ek_mve_add_s16;
ek_mul_s8_fn ek_mve_mul_s8;
ek_lut_s8_fn ek_mve_lut_s8;
ek_lut_s16_fn ek_mve_lut_s16;
ek_channel_lut_s8_fn ek_mve_channel_lut_s8;
ek_sum_s8_fn ek_mve_sum_s8;
ek_max_s8_fn ek_mve_max_s8;
ek_quantize_f32_s8_fn ek_mve_quantize_f32_s8;
ek_quantize_f32_s16_fn ek_mve_quantize_f32_s16;
ek_copy_fn ek_mve_copy;
ek_depthwise_s16_fn ek_mve_depthwise_s16;

#endif

/* The micro-kernels: all heavy work goes through this table. Porting to a chip means filling it.
 *
 * ek_kernels_reference() is the meaning of every entry; any other implementation gives the same
 * bytes (integer entries) or stays within 1e-5 relative of it (float entries). A kernel reads and
 * writes exactly the elements named here, at any alignment of its type, and has no error path.
 * Buffers do not overlap, except where an entry says that out may be its input.
 */
#ifndef EDGEKIT_KERNELS_H
#define EDGEKIT_KERNELS_H

#include <stdbool.h>

#include "edgekit/edgekit.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Requantization of n channels; see fixed_point.h and docs/arithmetic.md. Bias has the input's
 * zero point folded in: acc = bias[n] + sum(w * x) over raw x. */
typedef struct ek_requant {
    const int32_t *bias;
    const int32_t *multiplier; /* each in [2^30, 2^31) */
    const int8_t *shift;       /* left when positive, right when negative; in [-30, 30] */
    int32_t zero_point, qmin, qmax;
} ek_requant;

/* The same for int16 operators, whose zero points are 0: ek_requantize16. |acc| < 2^39, while the sum of any
 * 256 products fits int32. */
typedef struct ek_requant16 {
    const int32_t *bias;
    const int32_t *multiplier; /* each in [2^22, 2^23) */
    const uint8_t *shift;      /* right, in [1, 62] */
    int32_t qmin, qmax;
} ek_requant16;

/* The constant side of out[rows][n] = requant(a[rows][k] * weights[n][k]). */
typedef struct ek_gemm_s8 {
    const void *weights; /* int8 [n][k], or what pack_gemm_s8 wrote */
    ek_requant requant;
    uint32_t n, k;
    /* Only for tables that say gemm_s8_parts. Not 0: the k elements of a row of a come in parts of so
     * many, a multiple of gemm_s8_parts that divides k, each part_step elements after the one before. */
    uint32_t part;
    size_t part_step;
} ek_gemm_s8;

/* Weights of 4 bits: an int8 is its nibble, -8 to 7, times its multiplier, 1 to 16. */
typedef struct ek_w4 {
    const uint8_t *nibbles;     /* [n][(k + 1) / 2]: two a byte, the lower first */
    const uint8_t *multipliers; /* [n][k / group, rounded up] */
    uint32_t group, k;          /* group 0: no multipliers */
} ek_w4;

typedef struct ek_gemm_s16 {
    const void *weights; /* int8 [n][k], or what pack_gemm_s16 wrote */
    ek_requant16 requant;
    uint32_t n, k;
} ek_gemm_s16;

typedef struct ek_gemm_f32 {
    const void *weights; /* float [n][k], or what pack_gemm_f32 wrote */
    const float *bias;   /* [n], may be NULL */
    float min, max;      /* clamp of the result; -INFINITY, INFINITY for none */
    uint32_t n, k;
} ek_gemm_f32;

typedef struct ek_depthwise_s8 {
    const void *weights; /* int8 [taps][c], or what pack_depthwise_s8 wrote */
    ek_requant requant;
    uint32_t taps, c;
} ek_depthwise_s8;

typedef struct ek_depthwise_s16 {
    const void *weights; /* int8 [taps][c], or what pack_depthwise_s16 wrote */
    ek_requant16 requant;
    uint32_t taps, c;
} ek_depthwise_s16;

/* The side of out[rows][n] = requant(a[rows][k] * b[n][k]) that all rows share. */
typedef struct ek_mat_mul_s16 {
    const int16_t *b;
    int32_t multiplier, qmin, qmax;
    uint32_t shift, n, k;
} ek_mat_mul_s16;

typedef struct ek_depthwise_f32 {
    const float *weights; /* [taps][c] */
    const float *bias;    /* [c], may be NULL */
    float min, max;
    uint32_t taps, c;
} ek_depthwise_f32;

typedef struct ek_add_s8 {
    int32_t a_multiplier, b_multiplier, bias;
    int32_t shift; /* right, in [0, 30] */
    int32_t qmin, qmax;
} ek_add_s8;

typedef struct ek_add_s16 {
    int32_t a_multiplier, b_multiplier; /* their magnitudes together are at most 2^23 */
    int32_t shift;                      /* right, rounded, in [1, 40] */
    int32_t qmin, qmax;
} ek_add_s16;

typedef struct ek_mul_s8 {
    int32_t a_zero, b_zero, multiplier, shift, zero_point, qmin, qmax;
} ek_mul_s8;

typedef struct ek_channel_lut_s8 {
    uint32_t channels;
    uint32_t count;       /* of tables, in [1, 256] */
    const uint8_t *index; /* of each channel, below count */
    const int8_t *tables; /* [count][256] */
} ek_channel_lut_s8;

/* out[r * out_step + j] for r < rows, j < n; row r of a starts at a + r * a_step. Steps count
 * elements. Sums do not overflow int32: the toolkit proved it. */
typedef void ek_gemm_s8_fn(int8_t *out, size_t out_step, const int8_t *a, size_t a_step, size_t rows,
                           const ek_gemm_s8 *g);
typedef void ek_gemm_s16_fn(int16_t *out, size_t out_step, const int16_t *a, size_t a_step, size_t rows,
                            const ek_gemm_s16 *g);
typedef void ek_gemm_f32_fn(float *out, size_t out_step, const float *a, size_t a_step, size_t rows,
                            const ek_gemm_f32 *g);

/* The bytes that packing n x k weights, or those of some taps and channels, takes (a multiple of 16), and
 * the packing itself, into memory aligned to 16. Packed weights may also lie in a hostile file: the kernel
 * must stay inside their bytes whatever they say. */
typedef size_t ek_packed_fn(uint32_t n_or_taps, uint32_t k_or_c);
typedef void ek_pack_gemm_fn(void *packed, const int8_t *weights, const int32_t *bias, uint32_t n, uint32_t k);
typedef void ek_pack_gemm_f32_fn(void *packed, const float *weights, uint32_t n, uint32_t k);
/* `d` holds the weights of the file; the packing may take in its requant too. */
typedef void ek_pack_depthwise_s8_fn(void *packed, const ek_depthwise_s8 *d);
typedef void ek_pack_depthwise_s16_fn(void *packed, const ek_depthwise_s16 *d);

/* What packing n channels' weights would make of them once they are int8; n is a multiple of 4 but for the last
 * channels. It is done as operators run, from nibbles. */
typedef void ek_unpack_w4_fn(void *packed, const ek_w4 *w, const int32_t *bias, uint32_t n);
/* One row of gemm_s8 with weights read from nibbles, out[j] for j < n: for products of so few rows that unpacking
 * would take longer. */
typedef void ek_row_w4_fn(int8_t *out, const int8_t *a, const ek_w4 *w, const ek_requant *r, uint32_t n);

/* The same for gemm_s16. */
typedef void ek_row_w4_s16_fn(int16_t *out, const int16_t *a, const ek_w4 *w, const ek_requant16 *r, uint32_t n);

/* Both sides int16, rows of b one after the other; any int16, sums of up to 511 products. */
typedef void ek_mat_mul_s16_fn(int16_t *out, const int16_t *a, size_t rows, const ek_mat_mul_s16 *m);

/* out[p * out_step + j] = requant(bias[j] + sum_t weights[t][j] * taps[t][p * in_step + j])
 * for p < pixels, j < c. */
typedef void ek_depthwise_s8_fn(int8_t *out, size_t out_step, const int8_t *const *taps, size_t in_step, size_t pixels,
                                const ek_depthwise_s8 *d);
typedef void ek_depthwise_s16_fn(int16_t *out, size_t out_step, const int16_t *const *taps, size_t in_step,
                                 size_t pixels, const ek_depthwise_s16 *d);
typedef void ek_depthwise_f32_fn(float *out, size_t out_step, const float *const *taps, size_t in_step, size_t pixels,
                                 const ek_depthwise_f32 *d);

/* Elementwise over `count`; b_step is 1, or 0 to use b[0] throughout. out may be a or b. */
typedef void ek_add_s8_fn(int8_t *out, const int8_t *a, const int8_t *b, size_t b_step, size_t count,
                          const ek_add_s8 *p);
typedef void ek_add_s16_fn(int16_t *out, const int16_t *a, const int16_t *b, size_t b_step, size_t count,
                           const ek_add_s16 *p);
typedef void ek_mul_s8_fn(int8_t *out, const int8_t *a, const int8_t *b, size_t b_step, size_t count,
                          const ek_mul_s8 *p);
/* out[i] = table[in[i] + 128]; out may be in. */
typedef void ek_lut_s8_fn(int8_t *out, const int8_t *in, size_t count, const int8_t *table);
/* At i = r * channels + c for r < rows, c < channels: out[i] = tables[index[c]][in[i] + 128]; out may be in. */
typedef void ek_channel_lut_s8_fn(int8_t *out, const int8_t *in, size_t rows, const ek_channel_lut_s8 *p);

/* acc[j] += sum_{i < count} in[i * step + j] for j < c; |result| < 2^31. */
typedef void ek_sum_s8_fn(int32_t *acc, const int8_t *in, size_t step, size_t count, size_t c);
/* out[j] = max(out[j], max_{i < count} in[i * step + j]) for j < c. */
typedef void ek_max_s8_fn(int8_t *out, const int8_t *in, size_t step, size_t count, size_t c);

/* q[i] = clamp(round_half_even(x[i] / scale) + zero_point) to int8, of int16 to [-32767, 32767] and without a
 * zero point; NaN as 0. Any float, any scale > 0, in IEEE single precision. */
typedef void ek_quantize_f32_s8_fn(int8_t *q, const float *x, size_t count, float scale, int32_t zero_point);
typedef void ek_quantize_f32_s16_fn(int16_t *q, const float *x, size_t count, float scale);

/* `count` runs of n bytes, each so many bytes after the one before. */
typedef void ek_copy_fn(uint8_t *to, size_t to_step, const uint8_t *from, size_t from_step, size_t n, size_t count);

struct ek_kernels {
    const char *name;

    /* Rows of gathered input that the gemm kernels like to get at once: the operators allot
     * scratch for that many rows of k elements. At least 1. */
    uint16_t gemm_s8_rows, gemm_s16_rows, gemm_f32_rows;
    /* Not 0: gemm_s8 takes rows in parts of any multiple of so many elements, so that the lines of an
     * image need no gathering. */
    uint16_t gemm_s8_parts;

    /* packed_* NULL: weights are used as they are in the file. */
    ek_gemm_s8_fn *gemm_s8;
    ek_packed_fn *packed_gemm_s8;
    ek_pack_gemm_fn *pack_gemm_s8;

    /* Not 0: unpack_gemm_w4 is there. Weights of 4 bits are unpacked about so many at a time, for gemm_s16 too. */
    uint16_t gemm_w4_block;
    ek_unpack_w4_fn *unpack_gemm_w4;
    ek_row_w4_fn *row_w4;
    /* Weights of 4 bits are unpacked when a session is made even if these kernels pack none: there is memory. */
    bool unpacks_w4_at_load;
    ek_row_w4_s16_fn *row_w4_s16;

    ek_gemm_s16_fn *gemm_s16;
    ek_packed_fn *packed_gemm_s16;
    ek_pack_gemm_fn *pack_gemm_s16;
    ek_mat_mul_s16_fn *mat_mul_s16;

    ek_gemm_f32_fn *gemm_f32;
    ek_packed_fn *packed_gemm_f32;
    ek_pack_gemm_f32_fn *pack_gemm_f32;

    ek_depthwise_s8_fn *depthwise_s8;
    ek_packed_fn *packed_depthwise_s8;
    ek_pack_depthwise_s8_fn *pack_depthwise_s8;
    ek_depthwise_s16_fn *depthwise_s16;
    ek_packed_fn *packed_depthwise_s16;
    ek_pack_depthwise_s16_fn *pack_depthwise_s16;
    ek_depthwise_f32_fn *depthwise_f32;

    ek_add_s8_fn *add_s8;
    ek_add_s16_fn *add_s16;
    ek_mul_s8_fn *mul_s8;
    ek_lut_s8_fn *lut_s8;
    ek_channel_lut_s8_fn *channel_lut_s8;
    ek_sum_s8_fn *sum_s8;
    ek_max_s8_fn *max_s8;

    ek_quantize_f32_s8_fn *quantize_f32_s8;
    ek_quantize_f32_s16_fn *quantize_f32_s16;

    ek_copy_fn *copy; /* NULL: the operators use memcpy */
};

#ifdef __cplusplus
}
#endif
#endif

/* gemm_s8 on widening multiplies: two products of int8 fit an int16 as long as no weight is -128, then
 * neighbours are added into int32. Groups are [2][8 channels][2 of k]; a pair of a row's bytes is spread
 * over a vector. Weights with a -128, which the toolkit never makes, stay as they are in the file. */
#include "kernels.h"
#include "fixed_point.h"

#define EK_GEMM_GROUP 4
#include "gemm_s8.h"

static size_t at_in_group(uint32_t j, uint32_t i)
{
    return i / 2 * 16 + j * 2 + i % 2;
}

size_t ek_neon_packed_gemm_s8(uint32_t n, uint32_t k)
{
    return packed_bytes(n, k);
}

void ek_neon_pack_gemm_s8(void *packed, const int8_t *weights, const int32_t *bias, uint32_t n, uint32_t k)
{
    bool plain = false;
    for (size_t i = 0; i < (size_t)n * k; i++) plain = plain || weights[i] == INT8_MIN;
    if (plain) {
        memset(packed, 1, HEADER);
        memcpy((int8_t *)packed + HEADER, weights, (size_t)n * k);
    } else {
        pack(packed, weights, bias, n, k);
    }
}

/* acc[0..1] of 8 channels: += x01 * v01 + x23 * v23. */
EK_INLINE void eight(int32x4_t acc[2], int8x16_t x01, int8x16_t v01, int8x16_t x23, int8x16_t v23)
{
    const int16x8_t low = vmull_s8(vget_low_s8(x01), vget_low_s8(v01));
    acc[0] = vpadalq_s16(acc[0], vmlal_s8(low, vget_low_s8(x23), vget_low_s8(v23)));
#ifdef __aarch64__
    acc[1] = vpadalq_s16(acc[1], vmlal_high_s8(vmull_high_s8(x01, v01), x23, v23));
#else
    const int16x8_t high = vmull_s8(vget_high_s8(x01), vget_high_s8(v01));
    acc[1] = vpadalq_s16(acc[1], vmlal_s8(high, vget_high_s8(x23), vget_high_s8(v23)));
#endif
}

/* Lane n throughout; clang wants lanes as literals, also where n is one after inlining. */
EK_INLINE int16x8_t repeat(int16x4_t x, const int n)
{
    return n == 0   ? vdupq_lane_s16(x, 0)
           : n == 1 ? vdupq_lane_s16(x, 1)
           : n == 2 ? vdupq_lane_s16(x, 2)
                    : vdupq_lane_s16(x, 3);
}

/* Bytes 4Q .. 4Q + 3 of R rows, by the channels of v. */
EK_INLINE void quad(int32x4_t acc[8][4], const int16x4_t *x, const int Q, const int8x16_t *v, const int R, const int C)
{
#pragma GCC unroll 8
    for (int r = 0; r < R; r++) {
        const int8x16_t x01 = vreinterpretq_s8_s16(repeat(x[r], 2 * Q));
        const int8x16_t x23 = vreinterpretq_s8_s16(repeat(x[r], 2 * Q + 1));
#pragma GCC unroll 8
        for (int c = 0; c < C; c++) eight(acc[r] + 2 * c, x01, v[2 * c], x23, v[2 * c + 1]);
    }
}

EK_INLINE void two_quads(int32x4_t acc[8][4], const int16x4_t *x, const int8_t **panel, const int R, const int C)
{
    int8x16x4_t v = ek_next64(panel);
    quad(acc, x, 0, v.val, R, C);
    if (C == 2) v = ek_next64(panel);
    quad(acc, x, 1, C == 2 ? v.val : v.val + 2, R, C);
}

/* The last `left` < 8 bytes of a row. */
EK_INLINE void tail(int32x4_t acc[8][4], const int16x4_t *x, const int8_t *panel, uint32_t left, const int R,
                    const int C)
{
    int8x16_t v[4];
#pragma GCC unroll 4
    for (int i = 0; i < 2 * C; i++) v[i] = vld1q_s8(panel + 16 * i);
    quad(acc, x, 0, v, R, C);
    if (left <= 4) return;
#pragma GCC unroll 4
    for (int i = 0; i < 2 * C; i++) v[i] = vld1q_s8(panel + 32 * C + 16 * i);
    quad(acc, x, 1, v, R, C);
}

EK_INLINE void block(int8_t *out, size_t out_step, const int8_t *a, size_t a_step, const columns *w, const int R,
                     const int C)
{
    int32x4_t acc[8][4];
    int16x4_t x[8];
    const int8_t *row[8], *panel = w->panel;
#pragma GCC unroll 8
    for (int r = 0; r < R; r++)
#pragma GCC unroll 8
        for (int i = 0; i < 2 * C; i++) acc[r][i] = vld1q_s32(w->bias + 4 * i);

    rows_at(row, a, a_step, R);
    const uint32_t left = w->part % 8;
    for (uint32_t done = 0;;) {
        for (uint32_t n = w->part / 8; n; n--) {
#pragma GCC unroll 8
            for (int r = 0; r < R; r++) x[r] = vreinterpret_s16_s8(ek_next8(&row[r]));
            two_quads(acc, x, &panel, R, C);
        }
        done += w->part;
        if (done == w->k) break;
        rows_skip(row, w, R);
    }
    if (left) {
#pragma GCC unroll 8
        for (int r = 0; r < R; r++) x[r] = vreinterpret_s16_s8(ek_load_row_end(row[r], w->part, left));
        tail(acc, x, panel, left, R, C);
    }
    const ending e = ending_of(w);
    store_rows(out, out_step, acc, &e, R, C);
}

static inline void sum_row(int32x4_t sums[4], const int32_t *bias, const int8_t *row, uint32_t k, const int8_t **panel)
{
    int32x4_t acc[8][4];
    int16x4_t x;
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) acc[0][i] = vld1q_s32(bias + 4 * i);
    for (uint32_t n = k / 8; n; n--) {
        x = vreinterpret_s16_s8(ek_next8(&row));
        two_quads(acc, &x, panel, 1, 2);
    }
    if (k % 8) {
        x = vreinterpret_s16_s8(ek_load_row_end(row, 8, k % 8));
        tail(acc, &x, *panel, k % 8, 1, 2);
        *panel += k % 8 > 4 ? 128 : 64;
    }
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) sums[i] = acc[0][i];
}

/* ARMv7 has half the registers. */
#ifdef __aarch64__
EK_STRIPE(stripe1, 6, 1)
EK_STRIPE(stripe2, 4, 2)
#else
EK_STRIPE(stripe1, 4, 1)
EK_STRIPE(stripe2, 2, 2)
#endif

/* With weights as in the file. */
static void multiply_plain(int8_t *out, size_t out_step, const int8_t *a, size_t a_step, size_t rows,
                           const ek_gemm_s8 *g)
{
    const uint32_t part = g->part ? g->part : g->k;
    const ek_requant *q = &g->requant;
    const int8_t *w = (const int8_t *)g->weights + HEADER;
    for (uint32_t j = 0; j < g->n; j++, w += g->k)
        for (size_t r = 0; r < rows; r++) {
            uint32_t acc = (uint32_t)q->bias[j];
            for (uint32_t i = 0; i < g->k; i++)
                acc += (uint32_t)(w[i] * a[r * a_step + i / part * g->part_step + i % part]);
            out[r * out_step + j] =
                ek_requantize((int32_t)acc, q->multiplier[j], q->shift[j], q->zero_point, q->qmin, q->qmax);
        }
}

void ek_neon_gemm_s8(int8_t *out, size_t out_step, const int8_t *a, size_t a_step, size_t rows, const ek_gemm_s8 *g)
{
    if (*(const int8_t *)g->weights)
        multiply_plain(out, out_step, a, a_step, rows, g);
    else
        multiply(out, out_step, a, a_step, rows, g, stripe1, stripe2);
}

/* gemm_s8 on widening multiplies: two products of int8 fit an int16 as long as no weight is -128, then
 * neighbours are added into int32. Panels are [k / 4][2][8 channels][2 of k]; a pair of a row's bytes is
 * spread over a vector. Weights with a -128, which the toolkit never makes, stay as they are in the file. */
#include "kernels.h"
#include "fixed_point.h"

#define EK_GEMM_GROUP 4
#include "gemm_s8.h"

static size_t at_of(uint32_t j, uint32_t i)
{
    return (size_t)(i / 4) * 32 + i % 4 / 2 * 16 + j * 2 + i % 2;
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

/* Bytes 4Q .. 4Q + 3 of R rows, by up to 16 channels. */
EK_INLINE void quads(int32x4_t acc[8][4], const int16x4_t *x, const int Q, const int8_t *panel, size_t bytes,
                     const int R, const int C)
{
    int8x16_t v[2][2];
#pragma GCC unroll 8
    for (int c = 0; c < C; c++) {
        v[c][0] = vld1q_s8(panel + (size_t)c * bytes);
        v[c][1] = vld1q_s8(panel + (size_t)c * bytes + 16);
    }
#pragma GCC unroll 8
    for (int r = 0; r < R; r++) {
        const int8x16_t x01 = vreinterpretq_s8_s16(repeat(x[r], 2 * Q));
        const int8x16_t x23 = vreinterpretq_s8_s16(repeat(x[r], 2 * Q + 1));
#pragma GCC unroll 8
        for (int c = 0; c < C; c++) eight(acc[r] + 2 * c, x01, v[c][0], x23, v[c][1]);
    }
}

EK_INLINE void block(int8_t *out, size_t out_step, const int8_t *a, size_t a_step, const columns *w, const int R,
                     const int C)
{
    int32x4_t acc[8][4];
    int16x4_t x[8];
#pragma GCC unroll 8
    for (int r = 0; r < R; r++)
#pragma GCC unroll 8
        for (int i = 0; i < 2 * C; i++) acc[r][i] = vld1q_s32(w->bias + 4 * i);

    const int8_t *panel = w->panel;
    const uint32_t left = w->part % 8;
    for (uint32_t done = 0;;) {
        uint32_t i = 0;
        for (; i + 8 <= w->part; i += 8, panel += 64) {
#pragma GCC unroll 8
            for (int r = 0; r < R; r++) x[r] = vreinterpret_s16_s8(vld1_s8(a + (size_t)r * a_step + i));
            quads(acc, x, 0, panel, w->panel_bytes, R, C);
            quads(acc, x, 1, panel + 32, w->panel_bytes, R, C);
        }
        done += w->part;
        if (done == w->k) break;
        a += w->part_step;
    }
    if (left) {
#pragma GCC unroll 8
        for (int r = 0; r < R; r++) x[r] = vreinterpret_s16_s8(ek_load_row_end(a + (size_t)r * a_step, w->part, left));
        quads(acc, x, 0, panel, w->panel_bytes, R, C);
        if (left > 4) quads(acc, x, 1, panel + 32, w->panel_bytes, R, C);
    }
    store_rows(out, out_step, acc, w, R, C);
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

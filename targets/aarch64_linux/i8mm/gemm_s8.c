/* gemm_s8 on SMMLA: 2 rows by 2 channels by 8 of k. Panels are [k / 8][4][2 channels][8 of k]. */
#include "kernels.h"

#define EK_GEMM_GROUP 8
#include "../neon/gemm_s8.h"

static size_t at_of(uint32_t j, uint32_t i)
{
    return (size_t)(i / 8) * 64 + j * 8 + i % 8;
}

size_t ek_i8mm_packed_gemm_s8(uint32_t n, uint32_t k)
{
    return packed_bytes(n, k);
}

void ek_i8mm_pack_gemm_s8(void *packed, const int8_t *weights, const int32_t *bias, uint32_t n, uint32_t k)
{
    pack(packed, weights, bias, n, k);
}

EK_INLINE int8x16_t low_halves(int8x16_t a, int8x16_t b)
{
    return vreinterpretq_s8_s64(vzip1q_s64(vreinterpretq_s64_s8(a), vreinterpretq_s64_s8(b)));
}
EK_INLINE int8x16_t high_halves(int8x16_t a, int8x16_t b)
{
    return vreinterpretq_s8_s64(vzip2q_s64(vreinterpretq_s64_s8(a), vreinterpretq_s64_s8(b)));
}

/* 8 of k: x holds pairs of rows. */
EK_INLINE void eight(int32x4_t acc[4][8], const int8x16_t *x, const int8_t *panel, size_t bytes, const int P,
                     const int C)
{
#pragma GCC unroll 8
    for (int c = 0; c < C; c++) {
        const int8x16x4_t v = vld1q_s8_x4(panel + (size_t)c * bytes);
#pragma GCC unroll 8
        for (int i = 0; i < 4; i++)
#pragma GCC unroll 8
            for (int p = 0; p < P; p++) acc[p][4 * c + i] = vmmlaq_s32(acc[p][4 * c + i], x[p], v.val[i]);
    }
}

/* From tiles of 2 x 2 to rows of 8C channels. */
EK_INLINE void to_rows(int32x4_t rows[8][4], const int32x4_t acc[4][8], const int P, const int C)
{
#pragma GCC unroll 8
    for (int p = 0; p < P; p++)
#pragma GCC unroll 8
        for (int i = 0; i < 2 * C; i++) {
            const int8x16_t a = vreinterpretq_s8_s32(acc[p][2 * i]), b = vreinterpretq_s8_s32(acc[p][2 * i + 1]);
            rows[2 * p][i] = vreinterpretq_s32_s8(low_halves(a, b));
            rows[2 * p + 1][i] = vreinterpretq_s32_s8(high_halves(a, b));
        }
}

/* An odd last row is its own neighbour. */
EK_INLINE void block(int8_t *out, size_t out_step, const int8_t *a, size_t a_step, const columns *w, const int R,
                     const int C)
{
    const int P = (R + 1) / 2;
    int32x4_t acc[4][8];
    int8x16_t x[4], y[4];
    const int8_t *row[8];
#pragma GCC unroll 8
    for (int i = 0; i < 4 * C; i++) {
        const int32x4_t bias = vreinterpretq_s32_s64(vdupq_n_s64(((const int64_t *)(const void *)w->bias)[i]));
#pragma GCC unroll 8
        for (int p = 0; p < P; p++) acc[p][i] = bias;
    }
#pragma GCC unroll 8
    for (int r = 0; r < 2 * P; r++) row[r] = a + (size_t)(r < R ? r : R - 1) * a_step;

    const int8_t *panel = w->panel;
    const uint32_t left = w->part % 8;
    for (uint32_t done = 0;;) {
        uint32_t i = 0;
#pragma GCC unroll 2
        for (; i + 16 <= w->part; i += 16, panel += 128) {
#pragma GCC unroll 8
            for (int p = 0; p < P; p++) {
                const int8x16_t even = vld1q_s8(row[2 * p] + i), odd = vld1q_s8(row[2 * p + 1] + i);
                x[p] = low_halves(even, odd);
                y[p] = high_halves(even, odd);
            }
            eight(acc, x, panel, w->panel_bytes, P, C);
            eight(acc, y, panel + 64, w->panel_bytes, P, C);
        }
        if (w->part & 8) {
#pragma GCC unroll 8
            for (int p = 0; p < P; p++) x[p] = vcombine_s8(vld1_s8(row[2 * p] + i), vld1_s8(row[2 * p + 1] + i));
            eight(acc, x, panel, w->panel_bytes, P, C);
            panel += 64;
        }
        done += w->part;
        if (done == w->k) break;
#pragma GCC unroll 8
        for (int r = 0; r < 2 * P; r++) row[r] += w->part_step;
    }
    if (left) {
#pragma GCC unroll 8
        for (int p = 0; p < P; p++)
            x[p] =
                vcombine_s8(ek_load_row_end(row[2 * p], w->part, left), ek_load_row_end(row[2 * p + 1], w->part, left));
        eight(acc, x, panel, w->panel_bytes, P, C);
    }
    int32x4_t rows[8][4];
    to_rows(rows, acc, P, C);
    store_rows(out, out_step, rows, w, R, C);
}

EK_STRIPE(stripe1, 8, 1)
EK_STRIPE(stripe2, 6, 2)

void ek_i8mm_gemm_s8(int8_t *out, size_t out_step, const int8_t *a, size_t a_step, size_t rows, const ek_gemm_s8 *g)
{
    multiply(out, out_step, a, a_step, rows, g, stripe1, stripe2);
}

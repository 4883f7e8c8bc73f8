/* gemm_s8 on SMMLA: 2 rows by 2 channels by 8 of k. Groups are [4][2 channels][8 of k].
 * A single row would fill half of its tiles: SDOT does it, with halves of 8 of k in neighbouring lanes. */
#include "kernels.h"

#define EK_GEMM_GROUP 8
#include "../neon/gemm_s8.h"

static size_t at_in_group(uint32_t j, uint32_t i)
{
    return j * 8 + i;
}

size_t ek_i8mm_packed_gemm_s8(uint32_t n, uint32_t k)
{
    return packed_bytes(n, k);
}

void ek_i8mm_pack_gemm_s8(void *packed, const int8_t *weights, const int32_t *bias, uint32_t n, uint32_t k)
{
    pack(packed, weights, bias, n, k);
}

/* 8 of k: x holds pairs of rows. */
EK_INLINE void eight(int32x4_t acc[4][8], const int8x16_t *x, const int8_t **panel, const int P, const int C)
{
#pragma GCC unroll 8
    for (int c = 0; c < C; c++) {
        const int8x16x4_t v = ek_next64(panel);
#pragma GCC unroll 8
        for (int i = 0; i < 4; i++)
#pragma GCC unroll 8
            for (int p = 0; p < P; p++) acc[p][4 * c + i] = vmmlaq_s32(acc[p][4 * c + i], x[p], v.val[i]);
    }
}

/* The two rows of tiles of 2 x 2, in channels. */
EK_INLINE void to_rows(int32x4_t rows[2][4], const int32x4_t acc[8], const int C)
{
#pragma GCC unroll 4
    for (int i = 0; i < 2 * C; i++) {
        const int64x2_t a = vreinterpretq_s64_s32(acc[2 * i]), b = vreinterpretq_s64_s32(acc[2 * i + 1]);
        rows[0][i] = vreinterpretq_s32_s64(vzip1q_s64(a, b));
        rows[1][i] = vreinterpretq_s32_s64(vzip2q_s64(a, b));
    }
}

/* An odd last row is its own neighbour. */
EK_INLINE void block(int8_t *out, size_t out_step, const int8_t *a, size_t a_step, const columns *w, const int R,
                     const int C)
{
    const int P = (R + 1) / 2;
    int32x4_t acc[4][8];
    int8x16_t x[4];
    const int8_t *row[8], *panel = w->panel;
#pragma GCC unroll 8
    for (int i = 0; i < 4 * C; i++) {
        const int32x4_t bias = vreinterpretq_s32_s64(vdupq_n_s64(((const int64_t *)(const void *)w->bias)[i]));
#pragma GCC unroll 4
        for (int p = 0; p < P; p++) acc[p][i] = bias;
    }
    rows_at(row, a, a_step, R);
    if (R % 2) row[R] = row[R - 1];

    const uint32_t left = w->part % 8;
    for (uint32_t done = 0;;) {
#pragma GCC unroll 2
        for (uint32_t n = w->part / 8; n; n--) {
#pragma GCC unroll 4
            for (int p = 0; p < P; p++) x[p] = ek_next8_of_two(&row[2 * p], &row[2 * p + 1]);
            eight(acc, x, &panel, P, C);
        }
        done += w->part;
        if (done == w->k) break;
        rows_skip(row, w, 2 * P);
    }
    if (left) {
#pragma GCC unroll 4
        for (int p = 0; p < P; p++)
            x[p] =
                vcombine_s8(ek_load_row_end(row[2 * p], w->part, left), ek_load_row_end(row[2 * p + 1], w->part, left));
        eight(acc, x, &panel, P, C);
    }
    const ending e = ending_of(w);
#pragma GCC unroll 4
    for (int p = 0; p < P; p++) {
        int32x4_t rows[2][4];
        to_rows(rows, acc[p], C);
        store_rows(out + (size_t)(2 * p) * out_step, out_step, rows, &e, 2 * p + 1 < R ? 2 : 1, C);
    }
}

/* 8 of k of one row, twice in x. */
EK_INLINE void eight_of_one(int32x4_t acc[8], int8x16_t x, const int8_t **panel)
{
#pragma GCC unroll 2
    for (int c = 0; c < 2; c++) {
        const int8x16x4_t v = ek_next64(panel);
#pragma GCC unroll 4
        for (int i = 0; i < 4; i++) acc[4 * c + i] = vdotq_s32(acc[4 * c + i], x, v.val[i]);
    }
}

static inline void sum_row(int32x4_t sums[4], const int32_t *bias, const int8_t *row, uint32_t k, const int8_t **panel)
{
    int32x4_t acc[8];
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) {
        const int32x4_t start = vld1q_s32(bias + 4 * i), zero = vdupq_n_s32(0);
        acc[2 * i] = vzip1q_s32(start, zero);
        acc[2 * i + 1] = vzip2q_s32(start, zero);
    }
#pragma GCC unroll 2
    for (uint32_t n = k / 8; n; n--) eight_of_one(acc, ek_next8_twice(&row), panel);
    if (k % 8) {
        const int8x8_t x = ek_load_row_end(row, 8, k % 8);
        eight_of_one(acc, vcombine_s8(x, x), panel);
    }
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) sums[i] = vpaddq_s32(acc[2 * i], acc[2 * i + 1]);
}

EK_STRIPE(stripe1, 8, 1)
EK_STRIPE(stripe2, 6, 2)

void ek_i8mm_gemm_s8(int8_t *out, size_t out_step, const int8_t *a, size_t a_step, size_t rows, const ek_gemm_s8 *g)
{
    multiply(out, out_step, a, a_step, rows, g, stripe1, stripe2);
}

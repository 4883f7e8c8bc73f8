/* gemm_s8 on SDOT by lane: a lane holds 4 bytes of a row. Groups are [8 channels][4 of k]. */
#include "kernels.h"

#define EK_GEMM_GROUP 4
#include "../neon/gemm_s8.h"

static size_t at_in_group(uint32_t j, uint32_t i)
{
    return j * 4 + i;
}

size_t ek_dotprod_packed_gemm_s8(uint32_t n, uint32_t k)
{
    return packed_bytes(n, k);
}

void ek_dotprod_pack_gemm_s8(void *packed, const int8_t *weights, const int32_t *bias, uint32_t n, uint32_t k)
{
    pack(packed, weights, bias, n, k);
}

/* By lane n of x; clang wants lanes as literals, also where n is one after inlining. */
EK_INLINE int32x4_t dot_lane(int32x4_t acc, int8x16_t v, int8x16_t x, const int n)
{
    return n == 0   ? vdotq_laneq_s32(acc, v, x, 0)
           : n == 1 ? vdotq_laneq_s32(acc, v, x, 1)
           : n == 2 ? vdotq_laneq_s32(acc, v, x, 2)
                    : vdotq_laneq_s32(acc, v, x, 3);
}

/* Bytes 4L .. 4L + 3 of R rows by the channels of v. */
EK_INLINE void four(int32x4_t acc[8][4], const int8x16_t *x, const int L, const int8x16_t *v, const int R, const int C)
{
#pragma GCC unroll 8
    for (int r = 0; r < R; r++)
#pragma GCC unroll 4
        for (int i = 0; i < 2 * C; i++) acc[r][i] = dot_lane(acc[r][i], v[i], x[r], L);
}

/* Bytes 8H .. 8H + 7. */
EK_INLINE void eight(int32x4_t acc[8][4], const int8x16_t *x, const int H, const int8_t **panel, const int R,
                     const int C)
{
    int8x16x4_t v = ek_next64(panel);
    four(acc, x, 2 * H, v.val, R, C);
    if (C == 2) v = ek_next64(panel);
    four(acc, x, 2 * H + 1, C == 2 ? v.val : v.val + 2, R, C);
}

/* The last `left` < 8 bytes of a row. */
EK_INLINE void tail(int32x4_t acc[8][4], const int8x16_t *x, const int8_t *panel, uint32_t left, const int R,
                    const int C)
{
    int8x16_t v[4];
#pragma GCC unroll 4
    for (int i = 0; i < 2 * C; i++) v[i] = vld1q_s8(panel + 16 * i);
    four(acc, x, 0, v, R, C);
    if (left <= 4) return;
#pragma GCC unroll 4
    for (int i = 0; i < 2 * C; i++) v[i] = vld1q_s8(panel + 32 * C + 16 * i);
    four(acc, x, 1, v, R, C);
}

EK_INLINE void block(int8_t *out, size_t out_step, const int8_t *a, size_t a_step, const columns *w, const int R,
                     const int C)
{
    int32x4_t acc[8][4];
    int8x16_t x[8];
    const int8_t *row[8], *panel = w->panel;
#pragma GCC unroll 8
    for (int r = 0; r < R; r++)
#pragma GCC unroll 8
        for (int i = 0; i < 2 * C; i++) acc[r][i] = vld1q_s32(w->bias + 4 * i);

    rows_at(row, a, a_step, R);
    const uint32_t left = w->part % 8;
    for (uint32_t done = 0;;) {
#pragma GCC unroll 2
        for (uint32_t n = w->part / 16; n; n--) {
#pragma GCC unroll 8
            for (int r = 0; r < R; r++) x[r] = ek_next16(&row[r]);
            eight(acc, x, 0, &panel, R, C);
            eight(acc, x, 1, &panel, R, C);
        }
        if (w->part & 8) {
#pragma GCC unroll 8
            for (int r = 0; r < R; r++) x[r] = vcombine_s8(ek_next8(&row[r]), vdup_n_s8(0));
            eight(acc, x, 0, &panel, R, C);
        }
        done += w->part;
        if (done == w->k) break;
        rows_skip(row, w, R);
    }
    if (left) {
#pragma GCC unroll 8
        for (int r = 0; r < R; r++) x[r] = vcombine_s8(ek_load_row_end(row[r], w->part, left), vdup_n_s8(0));
        tail(acc, x, panel, left, R, C);
    }
    const ending e = ending_of(w);
    store_rows(out, out_step, acc, &e, R, C);
}

static inline void sum_row(int32x4_t sums[4], const int32_t *bias, const int8_t *row, uint32_t k, const int8_t **panel)
{
    int32x4_t acc[8][4];
    int8x16_t x;
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) acc[0][i] = vld1q_s32(bias + 4 * i);
#pragma GCC unroll 2
    for (uint32_t n = k / 16; n; n--) {
        x = ek_next16(&row);
        eight(acc, &x, 0, panel, 1, 2);
        eight(acc, &x, 1, panel, 1, 2);
    }
    if (k & 8) {
        x = vcombine_s8(ek_next8(&row), vdup_n_s8(0));
        eight(acc, &x, 0, panel, 1, 2);
    }
    if (k % 8) {
        x = vcombine_s8(ek_load_row_end(row, 8, k % 8), vdup_n_s8(0));
        tail(acc, &x, *panel, k % 8, 1, 2);
        *panel += k % 8 > 4 ? 128 : 64;
    }
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) sums[i] = acc[0][i];
}

EK_STRIPE(stripe1, 8, 1)
EK_STRIPE(stripe2, 5, 2)

void ek_dotprod_gemm_s8(int8_t *out, size_t out_step, const int8_t *a, size_t a_step, size_t rows, const ek_gemm_s8 *g)
{
    multiply(out, out_step, a, a_step, rows, g, stripe1, stripe2);
}

/* gemm_s8 on SDOT by lane: a lane holds 4 bytes of a row. Panels are [k / 4][8 channels][4 of k]. */
#include "kernels.h"

#define EK_GEMM_GROUP 4
#include "../neon/gemm_s8.h"

static size_t at_of(uint32_t j, uint32_t i)
{
    return (size_t)(i / 4) * 32 + j * 4 + i % 4;
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

/* Bytes 8H .. 8H + 7 of R rows. */
EK_INLINE void half(int32x4_t acc[8][4], const int8x16_t *x, const int H, const int8_t *panel, size_t bytes,
                    const int R, const int C)
{
#pragma GCC unroll 8
    for (int c = 0; c < C; c++, panel += bytes) {
        const int8x16x4_t v = vld1q_s8_x4(panel);
#pragma GCC unroll 8
        for (int r = 0; r < R; r++) {
            acc[r][2 * c] = dot_lane(acc[r][2 * c], v.val[0], x[r], 2 * H);
            acc[r][2 * c + 1] = dot_lane(acc[r][2 * c + 1], v.val[1], x[r], 2 * H);
        }
#pragma GCC unroll 8
        for (int r = 0; r < R; r++) {
            acc[r][2 * c] = dot_lane(acc[r][2 * c], v.val[2], x[r], 2 * H + 1);
            acc[r][2 * c + 1] = dot_lane(acc[r][2 * c + 1], v.val[3], x[r], 2 * H + 1);
        }
    }
}

/* Bytes 4L .. 4L + 3. */
EK_INLINE void quarter(int32x4_t acc[8][4], const int8x16_t *x, const int L, const int8_t *panel, size_t bytes,
                       const int R, const int C)
{
#pragma GCC unroll 8
    for (int c = 0; c < C; c++, panel += bytes) {
        const int8x16_t v0 = vld1q_s8(panel), v1 = vld1q_s8(panel + 16);
#pragma GCC unroll 8
        for (int r = 0; r < R; r++) {
            acc[r][2 * c] = dot_lane(acc[r][2 * c], v0, x[r], L);
            acc[r][2 * c + 1] = dot_lane(acc[r][2 * c + 1], v1, x[r], L);
        }
    }
}

EK_INLINE void block(int8_t *out, size_t out_step, const int8_t *a, size_t a_step, const columns *w, const int R,
                     const int C)
{
    int32x4_t acc[8][4];
    int8x16_t x[8];
#pragma GCC unroll 8
    for (int r = 0; r < R; r++)
#pragma GCC unroll 8
        for (int i = 0; i < 2 * C; i++) acc[r][i] = vld1q_s32(w->bias + 4 * i);

    const int8_t *panel = w->panel;
    const uint32_t left = w->part % 8;
    for (uint32_t done = 0;;) {
        uint32_t i = 0;
#pragma GCC unroll 2
        for (; i + 16 <= w->part; i += 16, panel += 128) {
#pragma GCC unroll 8
            for (int r = 0; r < R; r++) x[r] = vld1q_s8(a + (size_t)r * a_step + i);
            half(acc, x, 0, panel, w->panel_bytes, R, C);
            half(acc, x, 1, panel + 64, w->panel_bytes, R, C);
        }
        if (w->part & 8) {
#pragma GCC unroll 8
            for (int r = 0; r < R; r++) x[r] = vcombine_s8(vld1_s8(a + (size_t)r * a_step + i), vdup_n_s8(0));
            half(acc, x, 0, panel, w->panel_bytes, R, C);
            panel += 64;
        }
        done += w->part;
        if (done == w->k) break;
        a += w->part_step;
    }
    if (left) {
#pragma GCC unroll 8
        for (int r = 0; r < R; r++)
            x[r] = vcombine_s8(ek_load_row_end(a + (size_t)r * a_step, w->part, left), vdup_n_s8(0));
        quarter(acc, x, 0, panel, w->panel_bytes, R, C);
        if (left > 4) quarter(acc, x, 1, panel + 32, w->panel_bytes, R, C);
    }
    store_rows(out, out_step, acc, w, R, C);
}

EK_STRIPE(stripe1, 8, 1)
EK_STRIPE(stripe2, 5, 2)

void ek_dotprod_gemm_s8(int8_t *out, size_t out_step, const int8_t *a, size_t a_step, size_t rows, const ek_gemm_s8 *g)
{
    multiply(out, out_step, a, a_step, rows, g, stripe1, stripe2);
}

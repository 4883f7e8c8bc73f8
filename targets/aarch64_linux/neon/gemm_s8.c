/* gemm_s8 on widening multiplies: two products of int8 fit an int16 as long as no weight is -128, then
 * neighbours are added into int32. Panels are [k / 4][2][8 channels][2 of k]; a pair of a row's bytes is
 * spread over a vector. Weights with a -128, which the toolkit never makes, stay as they are in the file. */
#include "kernels.h"
#include "kernels_ref/reference.h"

#define EK_GEMM_GROUP 4
#include "gemm_s8.h"

static size_t at_of(uint32_t j, uint32_t i)
{
    return (size_t)(i / 4) * 32 + i % 4 / 2 * 16 + j * 2 + i % 2;
}

size_t ek_neon_packed_gemm_s8(uint32_t n, uint32_t k) { return packed_bytes(n, k); }

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

/* Bytes 4Q .. 4Q + 3 of x, by up to 16 channels. */
EK_INLINE void quad(int32x4_t *acc, int16x4_t x, const int Q, const int8x8_t *w, const int C)
{
    const int8x8_t x01 = vreinterpret_s8_s16(vdup_lane_s16(x, 2 * Q));
    const int8x8_t x23 = vreinterpret_s8_s16(vdup_lane_s16(x, 2 * Q + 1));
#pragma GCC unroll 8
    for (int i = 0; i < 2 * C; i++) {
        const int at = i / 2 * 4 + i % 2;
        acc[i] = vpadalq_s16(acc[i], vmlal_s8(vmull_s8(x01, w[at]), x23, w[at + 2]));
    }
}

EK_INLINE void load_quad(int8x8_t *v, const int8_t *panel, size_t bytes, const int C)
{
#pragma GCC unroll 8
    for (int c = 0; c < C; c++)
#pragma GCC unroll 8
        for (int i = 0; i < 2; i++) {
            const int8x16_t q = vld1q_s8(panel + (size_t)c * bytes + 16 * i);
            v[4 * c + 2 * i] = vget_low_s8(q);
            v[4 * c + 2 * i + 1] = vget_high_s8(q);
        }
}

EK_INLINE void quads(int32x4_t acc[8][4], const int16x4_t *x, const int Q, const int8_t *panel, size_t bytes,
                     const int R, const int C)
{
    int8x8_t v[8];
    load_quad(v, panel, bytes, C);
#pragma GCC unroll 8
    for (int r = 0; r < R; r++) quad(acc[r], x[r], Q, v, C);
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
    const uint32_t left = w->k % 8;
    uint32_t i = 0;
    for (; i + 8 <= w->k; i += 8, panel += 64) {
#pragma GCC unroll 8
        for (int r = 0; r < R; r++) x[r] = vreinterpret_s16_s8(vld1_s8(a + (size_t)r * a_step + i));
        quads(acc, x, 0, panel, w->panel_bytes, R, C);
        quads(acc, x, 1, panel + 32, w->panel_bytes, R, C);
    }
    if (left) {
#pragma GCC unroll 8
        for (int r = 0; r < R; r++)
            x[r] = vreinterpret_s16_s8(ek_load_row_end(a + (size_t)r * a_step, w->k, left));
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

void ek_neon_gemm_s8(int8_t *out, size_t out_step, const int8_t *a, size_t a_step, size_t rows, const ek_gemm_s8 *g)
{
    if (*(const int8_t *)g->weights) {
        ek_gemm_s8 plain = *g;
        plain.weights = (const int8_t *)g->weights + HEADER;
        ek_gemm_s8_ref(out, out_step, a, a_step, rows, &plain);
    } else {
        multiply(out, out_step, a, a_step, rows, g, stripe1, stripe2);
    }
}

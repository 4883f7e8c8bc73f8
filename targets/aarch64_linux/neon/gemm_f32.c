/* gemm_f32: blocks of up to 4 rows by a panel of 8 columns. Packed: panels [n / 8][k][8], padded with 0. */
#include "kernels.h"
#include "requant.h"

enum { PANEL = 8 };

static size_t panels(uint32_t n)
{
    return ((size_t)n + PANEL - 1) / PANEL;
}

size_t ek_neon_packed_gemm_f32(uint32_t n, uint32_t k)
{
    return panels(n) * k * PANEL * sizeof(float);
}

void ek_neon_pack_gemm_f32(void *packed, const float *weights, uint32_t n, uint32_t k)
{
    float *const panel = packed;
    memset(packed, 0, ek_neon_packed_gemm_f32(n, k));
    for (uint32_t j = 0; j < n; j++)
        for (uint32_t i = 0; i < k; i++)
            panel[((size_t)(j / PANEL) * k + i) * PANEL + j % PANEL] = weights[(size_t)j * k + i];
}

typedef struct columns {
    const float *panel;
    uint32_t k, count;
    float32x4_t bias[2], min, max;
} columns;

#ifdef __aarch64__
#define MULTIPLY(acc, w, x, lane) vfmaq_laneq_f32(acc, w, x, lane)
#else
#define MULTIPLY(acc, w, x, lane) \
    vfmaq_f32(acc, w, vdupq_lane_f32(lane < 2 ? vget_low_f32(x) : vget_high_f32(x), lane % 2))
#endif

EK_INLINE void block(float *out, size_t out_step, const float *a, size_t a_step, const columns *w, const int R)
{
    float32x4_t acc[4][2];
#pragma GCC unroll 4
    for (int r = 0; r < R; r++) acc[r][0] = w->bias[0], acc[r][1] = w->bias[1];
    const float *panel = w->panel;
    uint32_t i = 0;
    for (; i + 4 <= w->k; i += 4, panel += 4 * PANEL) {
        float32x4_t x[4];
#pragma GCC unroll 4
        for (int r = 0; r < R; r++) x[r] = vld1q_f32(a + (size_t)r * a_step + i);
#pragma GCC unroll 2
        for (int c = 0; c < 2; c++) {
            const float *const v = panel + 4 * c;
            const float32x4_t v0 = vld1q_f32(v), v1 = vld1q_f32(v + 8), v2 = vld1q_f32(v + 16), v3 = vld1q_f32(v + 24);
#pragma GCC unroll 4
            for (int r = 0; r < R; r++) {
                acc[r][c] = MULTIPLY(acc[r][c], v0, x[r], 0);
                acc[r][c] = MULTIPLY(acc[r][c], v1, x[r], 1);
                acc[r][c] = MULTIPLY(acc[r][c], v2, x[r], 2);
                acc[r][c] = MULTIPLY(acc[r][c], v3, x[r], 3);
            }
        }
    }
    for (; i < w->k; i++, panel += PANEL) {
        const float32x4_t v0 = vld1q_f32(panel), v1 = vld1q_f32(panel + 4);
#pragma GCC unroll 4
        for (int r = 0; r < R; r++) {
            const float32x4_t x = vld1q_dup_f32(a + (size_t)r * a_step + i);
            acc[r][0] = vfmaq_f32(acc[r][0], v0, x);
            acc[r][1] = vfmaq_f32(acc[r][1], v1, x);
        }
    }
#pragma GCC unroll 4
    for (int r = 0; r < R; r++) {
        float row[PANEL];
        float *const to = w->count == PANEL ? out + (size_t)r * out_step : row;
        vst1q_f32(to, vminq_f32(vmaxq_f32(acc[r][0], w->min), w->max));
        vst1q_f32(to + 4, vminq_f32(vmaxq_f32(acc[r][1], w->min), w->max));
        if (to == row) memcpy(out + (size_t)r * out_step, row, w->count * sizeof *row);
    }
}

static void stripe(float *out, size_t out_step, const float *a, size_t a_step, size_t rows, const columns *w)
{
    for (; rows >= 4; rows -= 4, a += 4 * a_step, out += 4 * out_step) block(out, out_step, a, a_step, w, 4);
    switch (rows) {
    case 3: block(out, out_step, a, a_step, w, 3); break;
    case 2: block(out, out_step, a, a_step, w, 2); break;
    case 1: block(out, out_step, a, a_step, w, 1); break;
    default: break;
    }
}

void ek_neon_gemm_f32(float *out, size_t out_step, const float *a, size_t a_step, size_t rows, const ek_gemm_f32 *g)
{
    columns w = { .panel = g->weights, .k = g->k, .min = vdupq_n_f32(g->min), .max = vdupq_n_f32(g->max) };
    for (uint32_t first = 0; first < g->n; first += PANEL, w.panel += (size_t)g->k * PANEL) {
        float bias[PANEL] = { 0 };
        w.count = g->n - first < PANEL ? g->n - first : PANEL;
        if (g->bias) memcpy(bias, g->bias + first, w.count * sizeof *bias);
        w.bias[0] = vld1q_f32(bias);
        w.bias[1] = vld1q_f32(bias + 4);
        stripe(out + first, out_step, a, a_step, rows, &w);
    }
}

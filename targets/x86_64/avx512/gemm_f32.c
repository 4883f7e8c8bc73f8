/* gemm_f32: blocks of R rows by up to 4 panels of 16 columns.
 * Packed: a header with where the rest starts (64-byte aligned if memory stays where it was packed),
 * then panels [n / 16][k][16], padded with zeros. */
#include <string.h>

#include "kernels.h"
#include "requant.h"

enum { LANES = 16, HEADER = EK_PACKED_HEADER, LINE = EK_PACKED_LINE };

static size_t panels(uint32_t n)
{
    return ((size_t)n + LANES - 1) / LANES;
}

size_t ek_avx512_packed_gemm_f32(uint32_t n, uint32_t k)
{
    return HEADER + (LINE - HEADER) + panels(n) * k * LINE;
}

void ek_avx512_pack_gemm_f32(void *packed, const float *weights, uint32_t n, uint32_t k)
{
    const uint32_t start = HEADER + (uint32_t)(-((uintptr_t)packed + HEADER) % LINE);
    memset(packed, 0, ek_avx512_packed_gemm_f32(n, k));
    memcpy(packed, &start, sizeof start);
    float *const panel = (float *)((char *)packed + start);
    for (uint32_t j = 0; j < n; j++)
        for (uint32_t i = 0; i < k; i++)
            panel[((size_t)(j / LANES) * k + i) * LANES + j % LANES] = weights[(size_t)j * k + i];
}

typedef struct columns {
    const float *panel;
    size_t panel_floats;
    uint32_t k;
    __m512 bias[4], min, max;
    __mmask16 exist; /* of the last panel */
} columns;

EK_INLINE void block(float *out, size_t out_step, const float *a, size_t a_step, const columns *w, const int R,
                     const int C)
{
    __m512 acc[8][4];
#pragma GCC unroll 8
    for (int r = 0; r < R; r++)
#pragma GCC unroll 4
        for (int c = 0; c < C; c++) acc[r][c] = w->bias[c];

    const float *panel = w->panel;
    for (uint32_t i = 0; i < w->k; i++, panel += LANES) {
        __m512 v[4];
#pragma GCC unroll 4
        for (int c = 0; c < C; c++) v[c] = _mm512_loadu_ps(panel + (size_t)c * w->panel_floats);
#pragma GCC unroll 8
        for (int r = 0; r < R; r++) {
            const __m512 x = _mm512_set1_ps(a[(size_t)r * a_step + i]);
#pragma GCC unroll 4
            for (int c = 0; c < C; c++) acc[r][c] = _mm512_fmadd_ps(x, v[c], acc[r][c]);
        }
    }
#pragma GCC unroll 8
    for (int r = 0; r < R; r++)
#pragma GCC unroll 4
        for (int c = 0; c < C; c++) {
            const __m512 y = _mm512_min_ps(w->max, _mm512_max_ps(w->min, acc[r][c])); /* so they keep a NaN */
            float *const to = out + (size_t)r * out_step + c * LANES;
            if (c == C - 1)
                _mm512_mask_storeu_ps(to, w->exist, y);
            else
                _mm512_storeu_ps(to, y);
        }
}

#define ELEMENT float
#include "gemm_stripes.h"

void ek_avx512_gemm_f32(float *out, size_t out_step, const float *a, size_t a_step, size_t rows, const ek_gemm_f32 *g)
{
    const size_t start = ek_packed_start(g->weights);
    columns w = { .panel = (const float *)((const char *)g->weights + start),
                  .panel_floats = (size_t)g->k * LANES,
                  .k = g->k,
                  .min = _mm512_set1_ps(g->min),
                  .max = _mm512_set1_ps(g->max) };
    for (uint32_t first = 0; first < g->n; first += 4 * LANES) {
        const uint32_t n = g->n - first < 4 * LANES ? g->n - first : 4 * LANES;
        const uint32_t count = (n + LANES - 1) / LANES;
        w.exist = ek_mask16(n - (count - 1) * LANES);
        for (uint32_t c = 0; c < count; c++)
            w.bias[c] = g->bias ? _mm512_maskz_loadu_ps(c == count - 1 ? w.exist : (__mmask16)0xffff,
                                                        g->bias + first + c * LANES)
                                : _mm512_setzero_ps();
        stripes[count - 1](out + first, out_step, a, a_step, rows, &w);
        w.panel += 4 * w.panel_floats;
    }
}

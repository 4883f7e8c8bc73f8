/* gemm_f32: blocks of 6 rows by 16 columns. Packed: panels [n / 16][k][16], padded with zeros. */
#include "kernels.h"
#include "partial.h"

enum { LANES = 16, ROWS = 6 };

size_t ek_avx2_packed_gemm_f32(uint32_t n, uint32_t k)
{
    return ((size_t)n + LANES - 1) / LANES * k * LANES * sizeof(float);
}

void ek_avx2_pack_gemm_f32(void *packed, const float *weights, uint32_t n, uint32_t k)
{
    float *const panel = packed;
    memset(packed, 0, ek_avx2_packed_gemm_f32(n, k));
    for (uint32_t j = 0; j < n; j++)
        for (uint32_t i = 0; i < k; i++)
            panel[((size_t)(j / LANES) * k + i) * LANES + j % LANES] = weights[(size_t)j * k + i];
}

typedef struct columns {
    const float *panel;
    uint32_t k, n; /* n: channels that exist, up to 16 */
    __m256 bias[2], min, max;
} columns;

/* R rows of the first H halves of the columns. */
EK_INLINE void block(float *out, size_t out_step, const float *a, size_t a_step, const columns *w, const int R,
                     const int H)
{
    __m256 acc[ROWS][2];
#pragma GCC unroll 6
    for (int r = 0; r < R; r++) acc[r][0] = w->bias[0], acc[r][1] = w->bias[1];
    const float *panel = w->panel;
    for (uint32_t i = 0; i < w->k; i++, panel += LANES) {
        const __m256 v0 = _mm256_loadu_ps(panel), v1 = _mm256_loadu_ps(panel + 8);
#pragma GCC unroll 6
        for (int r = 0; r < R; r++) {
            const __m256 x = _mm256_set1_ps(a[(size_t)r * a_step + i]);
            acc[r][0] = _mm256_fmadd_ps(x, v0, acc[r][0]);
            if (H == 2) acc[r][1] = _mm256_fmadd_ps(x, v1, acc[r][1]);
        }
    }
#pragma GCC unroll 6
    for (int r = 0; r < R; r++)
#pragma GCC unroll 2
        for (int h = 0; h < H; h++) acc[r][h] = _mm256_min_ps(w->max, _mm256_max_ps(w->min, acc[r][h]));
    /* After all of that: the compiler has to assume that a store changes what is read. */
    const size_t n = w->n;
#pragma GCC unroll 6
    for (int r = 0; r < R; r++) {
        float *const to = out + (size_t)r * out_step;
        ek_store_some_f32(to, acc[r][0], H == 2 ? 8 : n);
        if (H == 2) ek_store_some_f32(to + 8, acc[r][1], n - 8);
    }
}

EK_INLINE void all_rows(float *out, size_t out_step, const float *a, size_t a_step, size_t rows, const columns *w,
                        const int H)
{
    for (; rows >= ROWS; rows -= ROWS, a += ROWS * a_step, out += ROWS * out_step)
        block(out, out_step, a, a_step, w, ROWS, H);
    switch (rows) {
    case 5: block(out, out_step, a, a_step, w, 5, H); break;
    case 4: block(out, out_step, a, a_step, w, 4, H); break;
    case 3: block(out, out_step, a, a_step, w, 3, H); break;
    case 2: block(out, out_step, a, a_step, w, 2, H); break;
    case 1: block(out, out_step, a, a_step, w, 1, H); break;
    default: break;
    }
}

static void rows_by_16(float *out, size_t out_step, const float *a, size_t a_step, size_t rows, const columns *w)
{
    all_rows(out, out_step, a, a_step, rows, w, 2);
}

static void rows_by_8(float *out, size_t out_step, const float *a, size_t a_step, size_t rows, const columns *w)
{
    all_rows(out, out_step, a, a_step, rows, w, 1);
}

void ek_avx2_gemm_f32(float *out, size_t out_step, const float *a, size_t a_step, size_t rows, const ek_gemm_f32 *g)
{
    columns w = { .panel = g->weights, .k = g->k, .min = _mm256_set1_ps(g->min), .max = _mm256_set1_ps(g->max) };
    for (uint32_t j = 0; j < g->n; j += LANES) {
        float bias[LANES] = { 0 };
        w.n = g->n - j < LANES ? g->n - j : LANES;
        if (g->bias) memcpy(bias, g->bias + j, w.n * sizeof(float));
        w.bias[0] = _mm256_loadu_ps(bias);
        w.bias[1] = _mm256_loadu_ps(bias + 8);
        if (w.n > LANES / 2)
            rows_by_16(out + j, out_step, a, a_step, rows, &w);
        else
            rows_by_8(out + j, out_step, a, a_step, rows, &w);
        w.panel += (size_t)g->k * LANES;
    }
}

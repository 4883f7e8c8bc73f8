/* gemm_s16 on vpdpwssd, with the weights of AVX2: a panel's step of two fills a register. */
#include "../avx2/gemm_s16.h"
#include "../avx2/kernels.h"
#include "kernels.h"

enum { ROWS = 12 };

/* sums[R] of 16 channels each: R rows times `depth` steps of a panel. */
EK_INLINE void multiply(__m256i sums[][2], rows16 rows, const int8_t *panel, uint32_t depth, const int R)
{
    __m512i sum[ROWS];
#pragma GCC unroll 12
    for (int r = 0; r < R; r++) sum[r] = _mm512_setzero_si512();
    uint32_t i = 0;
    for (; i + 2 <= depth; i += 2, panel += 2 * LANES) {
        const __m512i w = _mm512_cvtepi8_epi16(_mm256_loadu_si256((const __m256i *)panel));
#pragma GCC unroll 12
        for (int r = 0; r < R; r++) {
            int32_t pair;
            memcpy(&pair, rows.a + (size_t)r * rows.step + i, sizeof pair);
            sum[r] = _mm512_dpwssd_epi32(sum[r], w, _mm512_set1_epi32(pair));
        }
    }
    if (i < depth) { /* an odd end, against a zero in the panel */
        const __m512i w = _mm512_cvtepi8_epi16(_mm256_loadu_si256((const __m256i *)panel));
#pragma GCC unroll 12
        for (int r = 0; r < R; r++)
            sum[r] = _mm512_dpwssd_epi32(sum[r], w, _mm512_set1_epi32((uint16_t)rows.a[(size_t)r * rows.step + i]));
    }
#pragma GCC unroll 12
    for (int r = 0; r < R; r++) _mm512_storeu_si512(sums[r], sum[r]);
}

static void multiply_rows(__m256i sums[ROWS][2], rows16 a, const int8_t *panel, uint32_t depth, size_t rows, bool whole)
{
    (void)whole; /* one register holds both halves */
    if (rows == ROWS) {
        multiply(sums, a, panel, depth, ROWS);
        return;
    }
    for (; rows >= 4; rows -= 4, sums += 4, a.a += 4 * a.step) multiply(sums, a, panel, depth, 4);
    for (; rows > 0; rows--, sums++, a.a += a.step) multiply(sums, a, panel, depth, 1);
}

#include "../avx2/gemm_s16_panels.h"

void ek_avx512_gemm_s16(int16_t *out, size_t out_step, const int16_t *a, size_t a_step, size_t rows,
                        const ek_gemm_s16 *g)
{
    gemm_s16(out, out_step, a, a_step, rows, g);
}

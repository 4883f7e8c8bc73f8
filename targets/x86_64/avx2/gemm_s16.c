/* gemm_s16 on vpmaddwd. */
#include "gemm_s16.h"
#include "kernels.h"

enum { ROWS = 6 };

EK_INLINE void add_pair(__m256i sum[2], int32_t pair, __m256i w0, __m256i w1)
{
    const __m256i x = _mm256_set1_epi32(pair);
    sum[0] = _mm256_add_epi32(sum[0], _mm256_madd_epi16(x, w0));
    sum[1] = _mm256_add_epi32(sum[1], _mm256_madd_epi16(x, w1));
}

EK_INLINE __m256i weights(const int8_t *panel)
{
    return _mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)panel));
}

/* sums[R][2] of 8 channels each: R rows times `depth` steps of a panel. */
EK_INLINE void multiply(__m256i sums[ROWS][2], rows16 rows, const int8_t *panel, uint32_t depth, const int R)
{
    __m256i sum[ROWS][2];
#pragma GCC unroll 6
    for (int r = 0; r < R; r++) sum[r][0] = sum[r][1] = _mm256_setzero_si256();
    uint32_t i = 0;
    for (; i + 2 <= depth; i += 2, panel += 2 * LANES) {
        const __m256i w0 = weights(panel), w1 = weights(panel + LANES);
#pragma GCC unroll 6
        for (int r = 0; r < R; r++) {
            int32_t pair;
            memcpy(&pair, rows.a + (size_t)r * rows.step + i, sizeof pair);
            add_pair(sum[r], pair, w0, w1);
        }
    }
    if (i < depth) { /* an odd end, against a zero in the panel */
        const __m256i w0 = weights(panel), w1 = weights(panel + LANES);
#pragma GCC unroll 6
        for (int r = 0; r < R; r++) add_pair(sum[r], (uint16_t)rows.a[(size_t)r * rows.step + i], w0, w1);
    }
#pragma GCC unroll 6
    for (int r = 0; r < R; r++) sums[r][0] = sum[r][0], sums[r][1] = sum[r][1];
}

static void multiply_rows(__m256i sums[ROWS][2], rows16 a, const int8_t *panel, uint32_t depth, size_t rows)
{
    switch (rows) {
    case 6: multiply(sums, a, panel, depth, 6); break;
    case 5: multiply(sums, a, panel, depth, 5); break;
    case 4: multiply(sums, a, panel, depth, 4); break;
    case 3: multiply(sums, a, panel, depth, 3); break;
    case 2: multiply(sums, a, panel, depth, 2); break;
    default: multiply(sums, a, panel, depth, 1); break;
    }
}

#include "gemm_s16_panels.h"

void ek_avx2_gemm_s16(int16_t *out, size_t out_step, const int16_t *a, size_t a_step, size_t rows, const ek_gemm_s16 *g)
{
    gemm_s16(out, out_step, a, a_step, rows, g);
}

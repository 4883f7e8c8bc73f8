/* gemm_s16 on vpmaddwd. */
#include "gemm_s16.h"
#include "kernels.h"

enum { ROWS = 6 };

EK_INLINE __m256i weights(const int8_t *panel)
{
    return _mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)panel));
}

EK_INLINE void add_pair(__m256i sum[2], int32_t pair, const int8_t *panel, const int H)
{
    const __m256i x = _mm256_set1_epi32(pair);
    sum[0] = _mm256_add_epi32(sum[0], _mm256_madd_epi16(x, weights(panel)));
    if (H == 2) sum[1] = _mm256_add_epi32(sum[1], _mm256_madd_epi16(x, weights(panel + LANES)));
}

/* sums[R][H] of 8 channels each: R rows times `depth` steps of a panel. */
EK_INLINE void multiply(__m256i sums[ROWS][2], rows16 rows, const int8_t *panel, size_t depth, const int R, const int H)
{
    __m256i sum[ROWS][2];
#pragma GCC unroll 6
    for (int r = 0; r < R; r++) sum[r][0] = sum[r][1] = _mm256_setzero_si256();
    size_t i = 0;
    for (; i + 2 <= depth; i += 2, panel += 2 * LANES) {
#pragma GCC unroll 6
        for (int r = 0; r < R; r++) {
            int32_t pair;
            memcpy(&pair, rows.a + (size_t)r * rows.step + i, sizeof pair);
            add_pair(sum[r], pair, panel, H);
        }
    }
    if (i < depth) { /* an odd end, against a zero in the panel */
#pragma GCC unroll 6
        for (int r = 0; r < R; r++) add_pair(sum[r], (uint16_t)rows.a[(size_t)r * rows.step + i], panel, H);
    }
#pragma GCC unroll 6
    for (int r = 0; r < R; r++) sums[r][0] = sum[r][0], sums[r][1] = sum[r][1];
}

EK_INLINE void multiply_halves(__m256i sums[ROWS][2], rows16 a, const int8_t *panel, size_t depth, size_t rows,
                               const int H)
{
    switch (rows) {
    case 6: multiply(sums, a, panel, depth, 6, H); break;
    case 5: multiply(sums, a, panel, depth, 5, H); break;
    case 4: multiply(sums, a, panel, depth, 4, H); break;
    case 3: multiply(sums, a, panel, depth, 3, H); break;
    case 2: multiply(sums, a, panel, depth, 2, H); break;
    default: multiply(sums, a, panel, depth, 1, H); break;
    }
}

static void multiply_rows(__m256i sums[ROWS][2], rows16 a, const int8_t *panel, uint32_t depth, size_t rows, bool whole)
{
    if (whole)
        multiply_halves(sums, a, panel, depth, rows, 2);
    else
        multiply_halves(sums, a, panel, depth, rows, 1);
}

#include "gemm_s16_panels.h"

void ek_avx2_gemm_s16(int16_t *out, size_t out_step, const int16_t *a, size_t a_step, size_t rows, const ek_gemm_s16 *g)
{
    gemm_s16(out, out_step, a, a_step, rows, g);
}

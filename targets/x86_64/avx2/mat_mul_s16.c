/* mat_mul_s16 on vpmaddwd, whose sum of two products leaves int32 in one case: four times -32768 make 2^31,
 * which wraps to what no other sum is. Less 1 every sum fits, and the ones are added again at the end. */
#include "fixed_point.h"
#include "kernels.h"
#include "requant16.h"

enum { COLUMNS = 4, STEP = 16 };

typedef struct sums {
    __m256i high[COLUMNS], low[COLUMNS]; /* of the halves of each sum of two products */
} sums;

EK_INLINE int64_t add_all(__m256i high, __m256i low, uint32_t k)
{
    int32_t h[8], l[8];
    _mm256_storeu_si256((__m256i *)h, high);
    _mm256_storeu_si256((__m256i *)l, low);
    int32_t sum_high = 0, sum_low = 0;
    for (int i = 0; i < 8; i++) sum_high += h[i], sum_low += l[i];
    return (int64_t)sum_high * 65536 + sum_low + (int64_t)((k + STEP - 1) / STEP * (STEP / 2));
}

/* Products of one row with C rows of b. */
EK_INLINE void columns(int16_t *out, const int16_t *a, const int16_t *b, const ek_mat_mul_s16 *m, const int C)
{
    const __m256i one = _mm256_set1_epi32(1), mask = _mm256_set1_epi32(0xffff);
    sums s;
#pragma GCC unroll 4
    for (int c = 0; c < C; c++) s.high[c] = s.low[c] = _mm256_setzero_si256();
    for (uint32_t i = 0; i < m->k; i += STEP) {
        const __m256i x = ek_load_some16(a + i, m->k - i);
#pragma GCC unroll 4
        for (int c = 0; c < C; c++) {
            const __m256i y = ek_load_some16(b + (size_t)c * m->k + i, m->k - i);
            const __m256i v = _mm256_sub_epi32(_mm256_madd_epi16(x, y), one);
            s.high[c] = _mm256_add_epi32(s.high[c], _mm256_srai_epi32(v, 16));
            s.low[c] = _mm256_add_epi32(s.low[c], _mm256_and_si256(v, mask));
        }
    }
    for (int c = 0; c < C; c++)
        out[c] = ek_requantize16(add_all(s.high[c], s.low[c], m->k), m->multiplier, m->shift, m->qmin, m->qmax);
}

void ek_avx2_mat_mul_s16(int16_t *out, const int16_t *a, size_t rows, const ek_mat_mul_s16 *m)
{
    for (; rows; rows--, a += m->k, out += m->n) {
        size_t j = 0;
        for (; j + COLUMNS <= m->n; j += COLUMNS) columns(out + j, a, m->b + j * m->k, m, COLUMNS);
        for (; j < m->n; j++) columns(out + j, a, m->b + j * m->k, m, 1);
    }
}

/* vecmat_s8 on vpmaddwd: 16 columns at a time by two elements of a where they lie side by side, else 4 by 16. */
#include "fixed_point.h"
#include "kernels.h"
#include "requant.h"

enum { COLUMNS = 4, LANES = 16 };

EK_INLINE __m256i widened(const int8_t *b)
{
    return _mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)b));
}

EK_INLINE int32_t add_across(__m256i v)
{
    __m128i four = _mm_add_epi32(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
    four = _mm_add_epi32(four, _mm_shuffle_epi32(four, 0x4e));
    return _mm_cvtsi128_si32(_mm_add_epi32(four, _mm_shuffle_epi32(four, 0xb1)));
}

static int8_t result(int32_t sum, const ek_vecmat_s8 *m)
{
    return ek_requantize(sum, m->multiplier, m->shift, m->zero_point, m->qmin, m->qmax);
}

/* C columns, whose elements lie together. */
EK_INLINE void turned(int8_t *out, const int16_t *a, const int8_t *b, const ek_vecmat_s8 *m, const int C)
{
    const size_t k = m->k;
    __m256i acc[COLUMNS];
    size_t i = 0;
#pragma GCC unroll 4
    for (int c = 0; c < C; c++) acc[c] = _mm256_setzero_si256();
    for (; i + LANES <= k; i += LANES) {
        const __m256i x = _mm256_loadu_si256((const __m256i *)(a + i));
#pragma GCC unroll 4
        for (int c = 0; c < C; c++)
            acc[c] = _mm256_add_epi32(acc[c], _mm256_madd_epi16(x, widened(b + (size_t)c * k + i)));
    }
#pragma GCC unroll 4
    for (int c = 0; c < C; c++) {
        int32_t sum = m->offset + add_across(acc[c]);
        for (size_t j = i; j < k; j++) sum += a[j] * b[(size_t)c * k + j];
        out[c] = result(sum, m);
    }
}

static void vecmat_turned(int8_t *out, const int16_t *a, const ek_vecmat_s8 *m)
{
    const int8_t *b = m->b;
    size_t j = 0;
    for (; j + COLUMNS <= m->n; j += COLUMNS, b += COLUMNS * (size_t)m->k) turned(out + j, a, b, m, COLUMNS);
    for (; j < m->n; j++, b += m->k) turned(out + j, a, b, m, 1);
}

/* 16 columns whose elements are n apart. A lane of lo holds columns 0 to 3 and 8 to 11, one of hi the others. */
static void plain(int8_t *out, const int16_t *a, const int8_t *b, const ek_vecmat_s8 *m, const ek_channels8 *ratio,
                  const ek_output8 *o)
{
    __m256i lo = ratio->bias, hi = ratio->bias;
    const __m256i zero = _mm256_setzero_si256();
    for (size_t i = 0; i < m->k; i += 2, b += 2 * (size_t)m->n) {
        const bool two = i + 1 < m->k;
        const __m256i above = widened(b), below = two ? widened(b + m->n) : zero;
        const int32_t pair = (uint16_t)a[i] | (int32_t)((uint32_t)(two ? a[i + 1] : 0) << 16);
        const __m256i x = _mm256_set1_epi32(pair);
        lo = _mm256_add_epi32(lo, _mm256_madd_epi16(x, _mm256_unpacklo_epi16(above, below)));
        hi = _mm256_add_epi32(hi, _mm256_madd_epi16(x, _mm256_unpackhi_epi16(above, below)));
    }
    const bool left = ek_any_left(ratio);
    const __m256i q = ek_narrow16(ek_scale8(lo, ratio, left), ek_scale8(hi, ratio, left), o);
    _mm_storeu_si128((__m128i *)out, ek_bytes16(q));
}

static int32_t column(const int16_t *a, const int8_t *b, const ek_vecmat_s8 *m)
{
    int32_t sum = m->offset;
    for (size_t i = 0; i < m->k; i++, b += m->n) sum += a[i] * *b;
    return sum;
}

static void vecmat_plain(int8_t *out, const int16_t *a, const ek_vecmat_s8 *m)
{
    const ek_output8 o = ek_output_from(m->zero_point, m->qmin, m->qmax);
    const ek_channels8 ratio =
        ek_channels_from(_mm256_set1_epi32(m->offset), _mm256_set1_epi32(m->multiplier), _mm256_set1_epi32(m->shift));
    size_t j = 0;
    for (; j + LANES <= m->n; j += LANES) plain(out + j, a, m->b + j, m, &ratio, &o);
    for (; j < m->n; j++) out[j] = result(column(a, m->b + j, m), m);
}

void ek_avx2_vecmat_s8(int8_t *out, const int16_t *a, const ek_vecmat_s8 *m)
{
    if (m->turned)
        vecmat_turned(out, a, m);
    else
        vecmat_plain(out, a, m);
}

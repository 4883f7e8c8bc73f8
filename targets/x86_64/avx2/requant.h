/* ek_requantize of fixed_point.h on 8 channels at a time, bit for bit.
 *
 * With u = a + 2^31 (unsigned), (u * 2m + 2^31) >> 32 is h + m exactly: the high word of one 32 x 32
 * bit product, without signs and without a shift. The -m is folded into the rounding of the second
 * shift, the + 2^31 into the bias.
 */
#ifndef EK_X86_AVX2_REQUANT_H
#define EK_X86_AVX2_REQUANT_H

#include <stdbool.h>

#include "edgekit/kernels.h"
#include "partial.h"

typedef struct ek_channels8 {
    __m256i bias; /* + 2^31: what accumulators start from */
    __m256i twice_m, twice_m_odd, round, right, left;
} ek_channels8;

typedef struct ek_output8 {
    __m256i zero_point; /* int16 */
    __m256i qmin, qmax; /* int16 */
} ek_output8;

EK_INLINE ek_channels8 ek_channels_from(__m256i bias, __m256i m, __m256i shift)
{
    const __m256i zero = _mm256_setzero_si256(), one = _mm256_set1_epi32(1);
    ek_channels8 c;
    c.left = _mm256_max_epi32(shift, zero);
    c.right = _mm256_sub_epi32(zero, _mm256_min_epi32(shift, zero));
    c.bias = _mm256_xor_si256(bias, _mm256_set1_epi32(INT32_MIN));
    c.twice_m = _mm256_slli_epi32(m, 1);
    c.twice_m_odd = _mm256_srli_epi64(c.twice_m, 32);
    c.round = _mm256_sub_epi32(_mm256_srli_epi32(_mm256_sllv_epi32(one, c.right), 1), m);
    return c;
}

EK_INLINE bool ek_any_left(const ek_channels8 *c)
{
    return !_mm256_testz_si256(c->left, c->left);
}

EK_INLINE ek_output8 ek_output_from(int32_t zero_point, int32_t qmin, int32_t qmax)
{
    return (ek_output8){ _mm256_set1_epi16((int16_t)zero_point), _mm256_set1_epi16((int16_t)qmin),
                         _mm256_set1_epi16((int16_t)qmax) };
}

/* ek_scale of accumulators that started from c->bias. */
EK_INLINE __m256i ek_scale8(__m256i acc, const ek_channels8 *c, bool any_left)
{
    const __m256i sign = _mm256_set1_epi32(INT32_MIN), half = _mm256_set1_epi64x(INT64_C(1) << 31);
    if (any_left) acc = _mm256_xor_si256(_mm256_sllv_epi32(_mm256_xor_si256(acc, sign), c->left), sign);
    const __m256i even = _mm256_add_epi64(_mm256_mul_epu32(acc, c->twice_m), half);
    const __m256i odd = _mm256_add_epi64(_mm256_mul_epu32(_mm256_srli_epi64(acc, 32), c->twice_m_odd), half);
    const __m256i high = _mm256_blend_epi32(_mm256_srli_epi64(even, 32), odd, 0xaa);
    return _mm256_srav_epi32(_mm256_add_epi32(high, c->round), c->right);
}

/* Zero point and clamp of 16 results, as int16: per 128-bit lane 4 of lo, then 4 of hi. Saturation on
 * the way does no harm: the zero point is an int8 and the range is within int8. */
EK_INLINE __m256i ek_narrow16(__m256i lo, __m256i hi, const ek_output8 *o)
{
    const __m256i r = _mm256_adds_epi16(_mm256_packs_epi32(lo, hi), o->zero_point);
    return _mm256_min_epi16(_mm256_max_epi16(r, o->qmin), o->qmax);
}

/* The 16 bytes of int16 values that are in order. */
EK_INLINE __m128i ek_bytes16(__m256i v)
{
    return _mm_packs_epi16(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
}

/* The constants of up to 16 channels, those that do not exist as zeros. */
typedef struct ek_constants16 {
    int32_t bias[16], multiplier[16];
    int8_t shift[16];
} ek_constants16;

EK_INLINE ek_constants16 ek_constants_load(const ek_requant *q, size_t first, size_t n)
{
    ek_constants16 c;
    if (n >= 16) { /* sizes that are known make plain moves */
        memcpy(c.bias, q->bias + first, sizeof c.bias);
        memcpy(c.multiplier, q->multiplier + first, sizeof c.multiplier);
        memcpy(c.shift, q->shift + first, sizeof c.shift);
        return c;
    }
    memset(&c, 0, sizeof c);
    memcpy(c.bias, q->bias + first, n * sizeof *q->bias);
    memcpy(c.multiplier, q->multiplier + first, n * sizeof *q->multiplier);
    memcpy(c.shift, q->shift + first, n);
    return c;
}

/* 8 channels as two runs of 4, starting at i and j. */
EK_INLINE ek_channels8 ek_channels_pick(const ek_constants16 *c, int i, int j)
{
    int32_t low, high;
    memcpy(&low, c->shift + i, 4);
    memcpy(&high, c->shift + j, 4);
    return ek_channels_from(
        _mm256_loadu2_m128i((const __m128i *)(c->bias + j), (const __m128i *)(c->bias + i)),
        _mm256_loadu2_m128i((const __m128i *)(c->multiplier + j), (const __m128i *)(c->multiplier + i)),
        _mm256_cvtepi8_epi32(_mm_set_epi32(0, 0, high, low)));
}

#endif

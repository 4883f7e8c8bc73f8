/* ek_requantize of fixed_point.h on 16 channels at a time, bit for bit.
 *
 * With u = a + 2^31 (unsigned), (u * 2m + 2^31) >> 32 is h + m exactly: the high word of one 32 x 32
 * bit product, without signs and without a shift. The -m is folded into the rounding of the second
 * shift, the + 2^31 into the bias.
 */
#ifndef EK_X86_AVX512_REQUANT_H
#define EK_X86_AVX512_REQUANT_H

#include <immintrin.h>
#include <stdbool.h>

#include "edgekit/kernels.h"

#define EK_INLINE static inline __attribute__((always_inline))

/* At any alignment: packed weights hold these. */
typedef struct ek_channels16 {
    __m512i_u bias; /* + 2^31: what accumulators start from */
    __m512i_u twice_m, twice_m_odd, round, right, left;
} ek_channels16;

typedef struct ek_output16 {
    __m512i zero_point; /* int16 */
    __m512i qmin, qmax; /* int8 */
} ek_output16;

static inline __mmask16 ek_mask16(size_t n)
{
    return n >= 16 ? 0xffff : (__mmask16)((1u << n) - 1);
}
static inline __mmask64 ek_mask64(size_t n)
{
    return n >= 64 ? ~(__mmask64)0 : ((__mmask64)1 << n) - 1;
}

EK_INLINE ek_channels16 ek_channels_from(__m512i bias, __m512i m, __m512i shift)
{
    const __m512i zero = _mm512_setzero_si512(), one = _mm512_set1_epi32(1);
    ek_channels16 c;
    c.left = _mm512_max_epi32(shift, zero);
    c.right = _mm512_sub_epi32(zero, _mm512_min_epi32(shift, zero));
    c.bias = _mm512_xor_si512(bias, _mm512_set1_epi32(INT32_MIN));
    c.twice_m = _mm512_slli_epi32(m, 1);
    c.twice_m_odd = _mm512_srli_epi64(c.twice_m, 32);
    c.round = _mm512_sub_epi32(_mm512_srli_epi32(_mm512_sllv_epi32(one, c.right), 1), m);
    return c;
}

/* Channels first .. first + 15, of which those in the mask exist. */
EK_INLINE ek_channels16 ek_channels_load(const ek_requant *q, size_t first, __mmask16 exist)
{
    return ek_channels_from(_mm512_maskz_loadu_epi32(exist, q->bias + first),
                            _mm512_maskz_loadu_epi32(exist, q->multiplier + first),
                            _mm512_cvtepi8_epi32(_mm_maskz_loadu_epi8(exist, q->shift + first)));
}

EK_INLINE bool ek_any_left(const ek_channels16 *c)
{
    return _mm512_test_epi32_mask(c->left, c->left) != 0;
}

EK_INLINE ek_output16 ek_output_from(int32_t zero_point, int32_t qmin, int32_t qmax)
{
    return (ek_output16){ _mm512_set1_epi16((int16_t)zero_point), _mm512_set1_epi8((int8_t)qmin),
                          _mm512_set1_epi8((int8_t)qmax) };
}

/* ek_scale of accumulators that started from c->bias. */
EK_INLINE __m512i ek_scale16(__m512i acc, const ek_channels16 *c, bool any_left)
{
    const __m512i sign = _mm512_set1_epi32(INT32_MIN), half = _mm512_set1_epi64(INT64_C(1) << 31);
    if (any_left) acc = _mm512_xor_si512(_mm512_sllv_epi32(_mm512_xor_si512(acc, sign), c->left), sign);
    const __m512i even = _mm512_add_epi64(_mm512_mul_epu32(acc, c->twice_m), half);
    const __m512i odd = _mm512_add_epi64(_mm512_mul_epu32(_mm512_srli_epi64(acc, 32), c->twice_m_odd), half);
    const __m512i high = _mm512_mask_shuffle_epi32(odd, 0x5555, even, (_MM_PERM_ENUM)0xf5);
    return _mm512_srav_epi32(_mm512_add_epi32(high, c->round), c->right);
}

/* Zero point and clamp of 64 results. Bytes come out per 128-bit lane: 4 of r0, of r1, of r2, of r3.
 * Saturation on the way does no harm: the zero point is an int8 and the range is within int8. */
EK_INLINE __m512i ek_narrow64(__m512i r0, __m512i r1, __m512i r2, __m512i r3, const ek_output16 *o)
{
    const __m512i lo = _mm512_adds_epi16(_mm512_packs_epi32(r0, r1), o->zero_point);
    const __m512i hi = _mm512_adds_epi16(_mm512_packs_epi32(r2, r3), o->zero_point);
    return _mm512_min_epi8(_mm512_max_epi8(_mm512_packs_epi16(lo, hi), o->qmin), o->qmax);
}

/* The lanes of ek_narrow64 to the order r0, r1, r2, r3. */
EK_INLINE __m512i ek_in_order64(__m512i narrow)
{
    const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    return _mm512_permutexvar_epi32(order, narrow);
}

#endif

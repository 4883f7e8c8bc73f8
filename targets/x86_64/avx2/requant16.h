/* ek_requantize16 of fixed_point.h on 8 channels at a time, bit for bit.
 *
 * Channels with even and odd numbers go apart, in lanes of 64 bits. AVX2 has no arithmetic shift of those:
 * 2^63 is added before a logical one and taken off behind it. */
#ifndef EK_X86_AVX2_REQUANT16_H
#define EK_X86_AVX2_REQUANT16_H

#include "requant.h"

typedef struct ek_wide8 {
    __m256i m[2], shift[2];
    __m256i start[2]; /* bias * m + half + 2^63: what products are added to */
    __m256i back[2];  /* 2^63 >> shift */
    __m256i back_both;
    bool narrow; /* all shifts are 32 or more: what is shifted fits int32, and so does back_both */
} ek_wide8;

typedef struct ek_limits16 {
    __m256i qmin, qmax;             /* 64 bits each */
    __m256i narrow_min, narrow_max; /* 32 bits each */
} ek_limits16;

EK_INLINE ek_limits16 ek_limits16_from(int32_t qmin, int32_t qmax)
{
    return (ek_limits16){ _mm256_set1_epi64x(qmin), _mm256_set1_epi64x(qmax), _mm256_set1_epi32(qmin),
                          _mm256_set1_epi32(qmax) };
}

EK_INLINE __m256i ek_weave(__m256i even, __m256i odd)
{
    return _mm256_blend_epi32(even, _mm256_slli_epi64(odd, 32), 0xaa);
}

EK_INLINE ek_wide8 ek_wide8_from(__m256i bias, __m256i m, __m256i shift)
{
    const __m256i one = _mm256_set1_epi64x(1), top = _mm256_set1_epi64x(INT64_MIN);
    ek_wide8 c;
    c.m[0] = m;
    c.m[1] = _mm256_srli_epi64(m, 32);
    c.shift[0] = _mm256_blend_epi32(shift, _mm256_setzero_si256(), 0xaa);
    c.shift[1] = _mm256_srli_epi64(shift, 32);
    for (int odd = 0; odd < 2; odd++) {
        const __m256i b = odd ? _mm256_srli_epi64(bias, 32) : bias;
        const __m256i half = _mm256_srli_epi64(_mm256_sllv_epi64(one, c.shift[odd]), 1);
        c.start[odd] = _mm256_add_epi64(_mm256_mul_epi32(b, c.m[odd]), _mm256_add_epi64(half, top));
        c.back[odd] = _mm256_srlv_epi64(top, c.shift[odd]);
    }
    c.back_both = ek_weave(c.back[0], c.back[1]);
    c.narrow = _mm256_movemask_epi8(_mm256_cmpgt_epi32(_mm256_set1_epi32(32), shift)) == 0;
    return c;
}

EK_INLINE __m256i ek_shift_and_clamp(__m256i product, const ek_wide8 *c, int odd, const ek_limits16 *l)
{
    const __m256i v = _mm256_add_epi64(product, c->start[odd]);
    __m256i r = _mm256_sub_epi64(_mm256_srlv_epi64(v, c->shift[odd]), c->back[odd]);
    r = _mm256_blendv_epi8(r, l->qmin, _mm256_cmpgt_epi64(l->qmin, r));
    return _mm256_blendv_epi8(r, l->qmax, _mm256_cmpgt_epi64(r, l->qmax));
}

/* int32 results of sums without their bias, which fit int32. */
EK_INLINE __m256i ek_scale16_sums(__m256i sums, const ek_wide8 *c, const ek_limits16 *l)
{
    const __m256i even = _mm256_mul_epi32(sums, c->m[0]);
    const __m256i odd = _mm256_mul_epi32(_mm256_srli_epi64(sums, 32), c->m[1]);
    if (c->narrow) {
        const __m256i v = ek_weave(_mm256_srlv_epi64(_mm256_add_epi64(even, c->start[0]), c->shift[0]),
                                   _mm256_srlv_epi64(_mm256_add_epi64(odd, c->start[1]), c->shift[1]));
        return _mm256_min_epi32(_mm256_max_epi32(_mm256_sub_epi32(v, c->back_both), l->narrow_min), l->narrow_max);
    }
    return ek_weave(ek_shift_and_clamp(even, c, 0, l), ek_shift_and_clamp(odd, c, 1, l));
}

/* acc[2] += the even and the odd sums. */
EK_INLINE void ek_widen_sums(__m256i acc[2], __m256i sums)
{
    const __m256i one = _mm256_set1_epi64x(1);
    acc[0] = _mm256_add_epi64(acc[0], _mm256_mul_epi32(sums, one));
    acc[1] = _mm256_add_epi64(acc[1], _mm256_mul_epi32(_mm256_srli_epi64(sums, 32), one));
}

EK_INLINE __m256i ek_product64(__m256i acc, __m256i m)
{
    const __m256i high = _mm256_mul_epu32(_mm256_srli_epi64(acc, 32), m);
    return _mm256_add_epi64(_mm256_mul_epu32(acc, m), _mm256_slli_epi64(high, 32));
}

/* As ek_scale16_sums, of what ek_widen_sums made. */
EK_INLINE __m256i ek_scale16_wide(const __m256i acc[2], const ek_wide8 *c, const ek_limits16 *l)
{
    return ek_weave(ek_shift_and_clamp(ek_product64(acc[0], c->m[0]), c, 0, l),
                    ek_shift_and_clamp(ek_product64(acc[1], c->m[1]), c, 1, l));
}

/* 8 channels as two runs of 4, starting at i and j, of up to 16 that begin with `first`. */
typedef struct ek_table16 {
    int32_t bias[16], multiplier[16];
    uint8_t shift[16];
} ek_table16;

EK_INLINE ek_table16 ek_table16_load(const ek_requant16 *r, size_t first, size_t n)
{
    ek_table16 t = { { 0 }, { 0 }, { 0 } };
    n = n < 16 ? n : 16;
    memset(t.shift, 32, sizeof t.shift); /* channels that do not exist are narrow */
    memcpy(t.bias, r->bias + first, n * sizeof *r->bias);
    memcpy(t.multiplier, r->multiplier + first, n * sizeof *r->multiplier);
    memcpy(t.shift, r->shift + first, n);
    return t;
}

EK_INLINE __m256i ek_two_runs(const int32_t *v, int i, int j)
{
    return _mm256_loadu2_m128i((const __m128i *)(v + j), (const __m128i *)(v + i));
}

EK_INLINE ek_wide8 ek_wide8_pick(const ek_table16 *t, int i, int j)
{
    int32_t low, high;
    memcpy(&low, t->shift + i, 4);
    memcpy(&high, t->shift + j, 4);
    return ek_wide8_from(ek_two_runs(t->bias, i, j), ek_two_runs(t->multiplier, i, j),
                         _mm256_cvtepu8_epi32(_mm_set_epi32(0, 0, high, low)));
}

#endif

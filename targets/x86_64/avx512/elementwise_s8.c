#include "kernels.h"
#include "requant.h"

enum { BLOCK = 64 };

typedef struct operands {
    const int8_t *a, *b;
    size_t b_step;
    __m512i constant; /* b[0] everywhere when b_step is 0 */
} operands;

/* b[0] is read before out, which may be b, is written. */
static operands operands_of(const int8_t *a, const int8_t *b, size_t b_step, size_t count)
{
    return (operands){ a, b, b_step, _mm512_set1_epi32(b_step || !count ? 0 : b[0]) };
}

EK_INLINE __m512i load16(const int8_t *p, __mmask64 exist, int i)
{
    return _mm512_cvtepi8_epi32(_mm_maskz_loadu_epi8((__mmask16)(exist >> (16 * i)), p + 16 * i));
}

EK_INLINE __m512i load_b(const operands *x, size_t at, __mmask64 exist, int i)
{
    return x->b_step ? load16(x->b + at, exist, i) : x->constant;
}

void ek_avx512_add_s8(int8_t *out, const int8_t *a, const int8_t *b, size_t b_step, size_t count, const ek_add_s8 *p)
{
    const operands x = operands_of(a, b, b_step, count);
    const ek_output16 o = ek_output_from(0, p->qmin, p->qmax);
    const __m512i ma = _mm512_set1_epi32(p->a_multiplier), mb = _mm512_set1_epi32(p->b_multiplier);
    const __m512i bias = _mm512_set1_epi32(p->bias);
    const __m128i shift = _mm_cvtsi32_si128(p->shift);
    for (size_t at = 0; at < count; at += BLOCK) {
        const __mmask64 exist = ek_mask64(count - at);
        __m512i r[4];
#pragma GCC unroll 4
        for (int i = 0; i < 4; i++) {
            const __m512i pa = _mm512_mullo_epi32(load16(x.a + at, exist, i), ma);
            const __m512i pb = _mm512_mullo_epi32(load_b(&x, at, exist, i), mb);
            r[i] = _mm512_sra_epi32(_mm512_add_epi32(_mm512_add_epi32(pa, pb), bias), shift);
        }
        _mm512_mask_storeu_epi8(out + at, exist, ek_in_order64(ek_narrow64(r[0], r[1], r[2], r[3], &o)));
    }
}

void ek_avx512_mul_s8(int8_t *out, const int8_t *a, const int8_t *b, size_t b_step, size_t count, const ek_mul_s8 *p)
{
    const operands x = operands_of(a, b, b_step, count);
    const ek_output16 o = ek_output_from(p->zero_point, p->qmin, p->qmax);
    const ek_channels16 c =
        ek_channels_from(_mm512_setzero_si512(), _mm512_set1_epi32(p->multiplier), _mm512_set1_epi32(p->shift));
    const bool left = p->shift > 0;
    const __m512i za = _mm512_set1_epi32(p->a_zero), zb = _mm512_set1_epi32(p->b_zero);
    for (size_t at = 0; at < count; at += BLOCK) {
        const __mmask64 exist = ek_mask64(count - at);
        __m512i r[4];
#pragma GCC unroll 4
        for (int i = 0; i < 4; i++) {
            const __m512i va = _mm512_sub_epi32(load16(x.a + at, exist, i), za);
            const __m512i vb = _mm512_sub_epi32(load_b(&x, at, exist, i), zb);
            r[i] = ek_scale16(_mm512_add_epi32(_mm512_mullo_epi32(va, vb), c.bias), &c, left);
        }
        _mm512_mask_storeu_epi8(out + at, exist, ek_in_order64(ek_narrow64(r[0], r[1], r[2], r[3], &o)));
    }
}

/* One row; all its elements have the slope slopes[0] if slope_step is 0. */
static void prelu_row(int8_t *out, const int8_t *in, const int32_t *slopes, size_t slope_step, size_t count,
                      const ek_prelu_s8 *p)
{
    const __m512i zero = _mm512_set1_epi32(p->input_zero), above = _mm512_set1_epi32(p->multiplier);
    const __m512i half = _mm512_set1_epi32(1 << (p->shift - 1)), zero_point = _mm512_set1_epi32(p->zero_point);
    const __m512i qmin = _mm512_set1_epi32(p->qmin), qmax = _mm512_set1_epi32(p->qmax);
    const __m128i shift = _mm_cvtsi32_si128(p->shift);
    for (size_t at = 0; at < count; at += 16) {
        const __mmask16 exist = ek_mask16(count - at);
        const __m512i d = _mm512_sub_epi32(_mm512_cvtepi8_epi32(_mm_maskz_loadu_epi8(exist, in + at)), zero);
        const __m512i below = slope_step ? _mm512_maskz_loadu_epi32(exist, slopes + at) : _mm512_set1_epi32(slopes[0]);
        const __m512i m = _mm512_mask_mov_epi32(above, _mm512_movepi32_mask(d), below);
        const __m512i q = _mm512_sra_epi32(_mm512_add_epi32(_mm512_mullo_epi32(d, m), half), shift);
        const __m512i r = _mm512_min_epi32(_mm512_max_epi32(_mm512_add_epi32(q, zero_point), qmin), qmax);
        _mm_mask_storeu_epi8(out + at, exist, _mm512_cvtepi32_epi8(r));
    }
}

void ek_avx512_prelu_s8(int8_t *out, const int8_t *in, size_t rows, const ek_prelu_s8 *p)
{
    const size_t channels = p->channels;
    if (channels == 1)
        prelu_row(out, in, p->slopes, 0, rows, p);
    else
        for (; rows; rows--, in += channels, out += channels) prelu_row(out, in, p->slopes, 1, channels, p);
}

/* quantize_f32_s8 and quantize_f32_s16, 16 at a time, with the division itself. */
#include "kernels.h"
#include "requant.h"

enum { BLOCK = 16 };

typedef struct quantizer {
    __m512 scale, limit; /* of |x / scale|, so that it fits int16 */
} quantizer;

/* minps and maxps give their second operand when one is NaN. */
EK_INLINE __m512i whole16(__m512 x, const quantizer *z)
{
    const __m512 v = _mm512_div_ps(x, z->scale), least = _mm512_sub_ps(_mm512_setzero_ps(), z->limit);
    const __m512 kept = _mm512_min_ps(z->limit, _mm512_max_ps(least, v));
    return _mm512_maskz_cvtps_epi32(_mm512_cmp_ps_mask(kept, kept, _CMP_ORD_Q), kept);
}

static __mmask16 mask_of(size_t count)
{
    return (__mmask16)((1u << count) - 1);
}

void ek_avx512_quantize_f32_s8(int8_t *q, const float *x, size_t count, float scale, int32_t zero_point)
{
    const quantizer z = { _mm512_set1_ps(scale), _mm512_set1_ps(512.0f) };
    const __m512i zero = _mm512_set1_epi32(zero_point);
    for (; count >= BLOCK; count -= BLOCK, x += BLOCK, q += BLOCK) {
        const __m512i v = _mm512_add_epi32(whole16(_mm512_loadu_ps(x), &z), zero);
        _mm_storeu_si128((__m128i *)q, _mm512_cvtsepi32_epi8(v));
    }
    if (!count) return;
    const __m512i v = _mm512_add_epi32(whole16(_mm512_maskz_loadu_ps(mask_of(count), x), &z), zero);
    _mm_mask_storeu_epi8(q, mask_of(count), _mm512_cvtsepi32_epi8(v));
}

void ek_avx512_quantize_f32_s16(int16_t *q, const float *x, size_t count, float scale)
{
    const quantizer z = { _mm512_set1_ps(scale), _mm512_set1_ps(32767.0f) };
    for (; count >= BLOCK; count -= BLOCK, x += BLOCK, q += BLOCK)
        _mm256_storeu_si256((__m256i *)q, _mm512_cvtsepi32_epi16(whole16(_mm512_loadu_ps(x), &z)));
    if (!count) return;
    const __m512i v = whole16(_mm512_maskz_loadu_ps(mask_of(count), x), &z);
    _mm256_mask_storeu_epi16(q, mask_of(count), _mm512_cvtsepi32_epi16(v));
}

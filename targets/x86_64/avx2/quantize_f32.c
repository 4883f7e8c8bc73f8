/* quantize_f32_s8 and quantize_f32_s16, 16 at a time, with the division itself. */
#include "kernels.h"
#include "requant.h"

enum { BLOCK = 16 };

typedef struct quantizer {
    __m256 scale, limit; /* of |x / scale|, so that it fits int16 */
} quantizer;

/* The first n of 8, the others 0. */
EK_INLINE __m256 load(const float *x, size_t n)
{
    if (n >= 8) return _mm256_loadu_ps(x);
    const __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    return _mm256_maskload_ps(x, _mm256_cmpgt_epi32(_mm256_set1_epi32((int)n), lane));
}

/* minps and maxps give their second operand when one is NaN. */
EK_INLINE __m256i whole8(__m256 x, const quantizer *z)
{
    const __m256 v = _mm256_div_ps(x, z->scale), least = _mm256_sub_ps(_mm256_setzero_ps(), z->limit);
    const __m256 kept = _mm256_min_ps(z->limit, _mm256_max_ps(least, v));
    return _mm256_cvtps_epi32(_mm256_and_ps(kept, _mm256_cmp_ps(kept, kept, _CMP_ORD_Q)));
}

/* int16, in order. */
EK_INLINE __m256i whole16(const float *x, size_t n, const quantizer *z)
{
    const __m256i lo = whole8(load(x, n), z), hi = whole8(n > 8 ? load(x + 8, n - 8) : _mm256_setzero_ps(), z);
    return _mm256_permute4x64_epi64(_mm256_packs_epi32(lo, hi), 0xd8);
}

void ek_avx2_quantize_f32_s8(int8_t *q, const float *x, size_t count, float scale, int32_t zero_point)
{
    const quantizer z = { _mm256_set1_ps(scale), _mm256_set1_ps(512.0f) };
    const __m256i zero = _mm256_set1_epi16((int16_t)zero_point);
    for (; count >= BLOCK; count -= BLOCK, x += BLOCK, q += BLOCK) {
        const __m256i v = _mm256_add_epi16(whole16(x, BLOCK, &z), zero);
        _mm_storeu_si128((__m128i *)q, ek_bytes16(v));
    }
    if (count) ek_store_some(q, ek_bytes16(_mm256_add_epi16(whole16(x, count, &z), zero)), count);
}

void ek_avx2_quantize_f32_s16(int16_t *q, const float *x, size_t count, float scale)
{
    const quantizer z = { _mm256_set1_ps(scale), _mm256_set1_ps(32767.0f) };
    for (; count >= BLOCK; count -= BLOCK, x += BLOCK, q += BLOCK)
        _mm256_storeu_si256((__m256i *)q, whole16(x, BLOCK, &z));
    if (!count) return;
    int16_t part[BLOCK];
    _mm256_storeu_si256((__m256i *)part, whole16(x, count, &z));
    memcpy(q, part, count * sizeof *q);
}

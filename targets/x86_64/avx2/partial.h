/* Loads and stores of a part of a vector. Two of one known size overlap: memcpy of a size that is not known is a
 * call, and masked stores take dozens of cycles on some CPUs. */
#ifndef EK_X86_AVX2_PARTIAL_H
#define EK_X86_AVX2_PARTIAL_H

#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define EK_INLINE static inline __attribute__((always_inline))

/* How many of `pixels` of c channels each can be read and written with `beyond` more elements: those which follow
 * exist, and are written after them. */
EK_INLINE size_t ek_pixels_with_room(size_t beyond, size_t c, size_t in_step, size_t out_step, size_t pixels)
{
    if (out_step != c || in_step == 0) return 0;
    const size_t step = in_step < out_step ? in_step : out_step, last = (beyond + step - 1) / step;
    return pixels > last ? pixels - last : 0;
}

/* The first n bytes of v. */
EK_INLINE void ek_store_some(int8_t *out, __m128i v, size_t n)
{
    int8_t all[16];
    if (n >= 16) {
        _mm_storeu_si128((__m128i *)out, v);
        return;
    }
    if (n == 8) {
        _mm_storel_epi64((__m128i *)out, v);
        return;
    }
    _mm_storeu_si128((__m128i *)all, v);
    if (n > 8) {
        _mm_storel_epi64((__m128i *)out, v);
        memcpy(out + n - 8, all + n - 8, 8);
    } else if (n >= 4) {
        memcpy(out, all, 4);
        memcpy(out + n - 4, all + n - 4, 4);
    } else {
        for (size_t i = 0; i < n; i++) out[i] = all[i];
    }
}

/* n bytes, and zeros after them. */
EK_INLINE __m128i ek_load_some(const int8_t *p, size_t n)
{
    uint64_t low = 0, high = 0;
    if (n >= 16) return _mm_loadu_si128((const __m128i *)p);
    if (n >= 8) {
        memcpy(&low, p, 8);
        if (n > 8) {
            memcpy(&high, p + n - 8, 8);
            high >>= 8 * (16 - n);
        }
    } else if (n >= 4) {
        uint32_t first, last;
        memcpy(&first, p, 4);
        memcpy(&last, p + n - 4, 4);
        low = first | (uint64_t)last << 8 * (n - 4);
    } else {
        for (size_t i = 0; i < n; i++) low |= (uint64_t)(uint8_t)p[i] << 8 * i;
    }
    return _mm_set_epi64x((int64_t)high, (int64_t)low);
}

/* The first 16 of n elements, 0 behind them. */
EK_INLINE __m256i ek_load_some16(const int16_t *p, size_t n)
{
    if (n >= 16) return _mm256_loadu_si256((const __m256i *)p);
    const __m128i low = ek_load_some((const int8_t *)p, n * sizeof *p);
    const __m128i high = n > 8 ? ek_load_some((const int8_t *)(p + 8), (n - 8) * sizeof *p) : _mm_setzero_si128();
    return _mm256_set_m128i(high, low);
}

EK_INLINE void ek_store_some16(int16_t *out, __m256i v, size_t n)
{
    if (n >= 16) {
        _mm256_storeu_si256((__m256i *)out, v);
        return;
    }
    ek_store_some((int8_t *)out, _mm256_castsi256_si128(v), n * sizeof *out);
    if (n > 8) ek_store_some((int8_t *)(out + 8), _mm256_extracti128_si256(v, 1), (n - 8) * sizeof *out);
}

EK_INLINE void ek_store_some_f32(float *out, __m256 v, size_t n)
{
    if (n >= 8) {
        _mm256_storeu_ps(out, v);
        return;
    }
    ek_store_some((int8_t *)out, _mm_castps_si128(_mm256_castps256_ps128(v)), n * sizeof *out);
    if (n > 4) ek_store_some((int8_t *)(out + 4), _mm_castps_si128(_mm256_extractf128_ps(v, 1)), (n - 4) * sizeof *out);
}

#endif

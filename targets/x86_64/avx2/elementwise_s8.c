#include "kernels.h"
#include "requant.h"

enum { BLOCK = 16 };

/* 16 elements of a and b as int32, and where their results go. */
typedef struct pairs {
    __m256i a[2], b[2];
} pairs;

EK_INLINE pairs load_pairs(const int8_t *a, const int8_t *b, bool constant, __m256i value, size_t n)
{
    pairs x;
    const __m128i va = ek_load_some(a, n);
    x.a[0] = _mm256_cvtepi8_epi32(va);
    x.a[1] = _mm256_cvtepi8_epi32(_mm_srli_si128(va, 8));
    if (constant) {
        x.b[0] = x.b[1] = value;
    } else {
        const __m128i vb = ek_load_some(b, n);
        x.b[0] = _mm256_cvtepi8_epi32(vb);
        x.b[1] = _mm256_cvtepi8_epi32(_mm_srli_si128(vb, 8));
    }
    return x;
}

EK_INLINE void store_pairs(int8_t *out, __m256i lo, __m256i hi, const ek_output8 *o, size_t n)
{
    ek_store_some(out, ek_bytes16(_mm256_permute4x64_epi64(ek_narrow16(lo, hi, o), 0xd8)), n);
}

void ek_avx2_add_s8(int8_t *out, const int8_t *a, const int8_t *b, size_t b_step, size_t count, const ek_add_s8 *p)
{
    const ek_output8 o = ek_output_from(0, p->qmin, p->qmax);
    const __m256i ma = _mm256_set1_epi32(p->a_multiplier), mb = _mm256_set1_epi32(p->b_multiplier);
    const __m256i bias = _mm256_set1_epi32(p->bias), value = _mm256_set1_epi32(b_step || !count ? 0 : b[0]);
    const __m128i shift = _mm_cvtsi32_si128(p->shift);
    for (size_t at = 0; at < count; at += BLOCK) {
        const pairs x = load_pairs(a + at, b + at * b_step, !b_step, value, count - at);
        __m256i r[2];
        for (int i = 0; i < 2; i++) {
            const __m256i sum = _mm256_add_epi32(_mm256_mullo_epi32(x.a[i], ma), _mm256_mullo_epi32(x.b[i], mb));
            r[i] = _mm256_sra_epi32(_mm256_add_epi32(sum, bias), shift);
        }
        store_pairs(out + at, r[0], r[1], &o, count - at);
    }
}

void ek_avx2_mul_s8(int8_t *out, const int8_t *a, const int8_t *b, size_t b_step, size_t count, const ek_mul_s8 *p)
{
    const ek_output8 o = ek_output_from(p->zero_point, p->qmin, p->qmax);
    const ek_channels8 c =
        ek_channels_from(_mm256_setzero_si256(), _mm256_set1_epi32(p->multiplier), _mm256_set1_epi32(p->shift));
    const bool left = p->shift > 0;
    const __m256i za = _mm256_set1_epi32(p->a_zero), zb = _mm256_set1_epi32(p->b_zero);
    const __m256i value = _mm256_set1_epi32(b_step || !count ? 0 : b[0]);
    for (size_t at = 0; at < count; at += BLOCK) {
        const pairs x = load_pairs(a + at, b + at * b_step, !b_step, value, count - at);
        __m256i r[2];
        for (int i = 0; i < 2; i++) {
            const __m256i product = _mm256_mullo_epi32(_mm256_sub_epi32(x.a[i], za), _mm256_sub_epi32(x.b[i], zb));
            r[i] = ek_scale8(_mm256_add_epi32(product, c.bias), &c, left);
        }
        store_pairs(out + at, r[0], r[1], &o, count - at);
    }
}

EK_INLINE __m256i load_slopes(const int32_t *slopes, size_t n)
{
    const __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    if (n >= 8) return _mm256_loadu_si256((const __m256i *)slopes);
    return _mm256_maskload_epi32(slopes, _mm256_cmpgt_epi32(_mm256_set1_epi32((int32_t)n), lane));
}

EK_INLINE __m256i prelu8(__m256i d, __m256i below, const ek_prelu_s8 *p)
{
    const __m256i above = _mm256_set1_epi32(p->multiplier), half = _mm256_set1_epi32(1 << (p->shift - 1));
    const __m256i m = _mm256_blendv_epi8(above, below, _mm256_srai_epi32(d, 31));
    return _mm256_sra_epi32(_mm256_add_epi32(_mm256_mullo_epi32(d, m), half), _mm_cvtsi32_si128(p->shift));
}

/* `rows` of `step` elements: n of each from `in` on, by up to 16 slopes. */
EK_INLINE void prelu_columns(int8_t *out, const int8_t *in, size_t step, size_t rows, size_t n, __m256i low,
                             __m256i high, const ek_prelu_s8 *p)
{
    const ek_output8 o = ek_output_from(p->zero_point, p->qmin, p->qmax);
    const __m256i zero = _mm256_set1_epi32(p->input_zero);
    for (; rows; rows--, in += step, out += step) {
        const __m128i v = ek_load_some(in, n);
        const __m256i a = prelu8(_mm256_sub_epi32(_mm256_cvtepi8_epi32(v), zero), low, p);
        const __m256i b = prelu8(_mm256_sub_epi32(_mm256_cvtepi8_epi32(_mm_srli_si128(v, 8)), zero), high, p);
        store_pairs(out, a, b, &o, n);
    }
}

void ek_avx2_prelu_s8(int8_t *out, const int8_t *in, size_t rows, const ek_prelu_s8 *p)
{
    const size_t channels = p->channels;
    if (channels == 1) {
        const __m256i slope = _mm256_set1_epi32(p->slopes[0]);
        const size_t whole = rows / BLOCK * BLOCK;
        prelu_columns(out, in, BLOCK, rows / BLOCK, BLOCK, slope, slope, p);
        if (rows > whole) prelu_columns(out + whole, in + whole, BLOCK, 1, rows - whole, slope, slope, p);
        return;
    }
    for (size_t at = 0; at < channels; at += BLOCK) {
        const size_t n = channels - at;
        const int32_t *const slopes = p->slopes + at;
        const __m256i low = load_slopes(slopes, n), high = load_slopes(n > 8 ? slopes + 8 : slopes, n > 8 ? n - 8 : 0);
        if (n >= BLOCK)
            prelu_columns(out + at, in + at, channels, rows, BLOCK, low, high, p);
        else if (n == 8)
            prelu_columns(out + at, in + at, channels, rows, 8, low, high, p);
        else
            prelu_columns(out + at, in + at, channels, rows, n, low, high, p);
    }
}

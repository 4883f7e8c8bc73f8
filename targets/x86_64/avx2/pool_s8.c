#include "kernels.h"
#include "requant.h"

enum { LANES = 16, ROWS = 256 }; /* 256 int8 always fit an int16 sum */

static void sum_block(int32_t *acc, const int8_t *in, size_t step, size_t rows)
{
    __m256i sum = _mm256_setzero_si256();
    for (size_t i = 0; i < rows; i++, in += step)
        sum = _mm256_add_epi16(sum, _mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)in)));
    const __m256i lo = _mm256_cvtepi16_epi32(_mm256_castsi256_si128(sum));
    const __m256i hi = _mm256_cvtepi16_epi32(_mm256_extracti128_si256(sum, 1));
    __m256i *const to = (__m256i *)acc;
    _mm256_storeu_si256(to, _mm256_add_epi32(_mm256_loadu_si256(to), lo));
    _mm256_storeu_si256(to + 1, _mm256_add_epi32(_mm256_loadu_si256(to + 1), hi));
}

void ek_avx2_sum_s8(int32_t *acc, const int8_t *in, size_t step, size_t count, size_t c)
{
    const size_t whole = c - c % LANES;
    for (size_t row = 0; row < count; row += ROWS) {
        const size_t rows = count - row < ROWS ? count - row : ROWS;
        for (size_t j = 0; j < whole; j += LANES) sum_block(acc + j, in + row * step + j, step, rows);
    }
    for (size_t i = 0; i < count; i++)
        for (size_t j = whole; j < c; j++) acc[j] += in[i * step + j];
}

void ek_avx2_max_s8(int8_t *out, const int8_t *in, size_t step, size_t count, size_t c)
{
    const size_t whole = c - c % LANES;
    for (size_t j = 0; j < whole; j += LANES) {
        __m128i most = _mm_loadu_si128((const __m128i *)(out + j));
        for (size_t i = 0; i < count; i++)
            most = _mm_max_epi8(most, _mm_loadu_si128((const __m128i *)(in + i * step + j)));
        _mm_storeu_si128((__m128i *)(out + j), most);
    }
    for (size_t i = 0; i < count; i++)
        for (size_t j = whole; j < c; j++) out[j] = in[i * step + j] > out[j] ? in[i * step + j] : out[j];
}

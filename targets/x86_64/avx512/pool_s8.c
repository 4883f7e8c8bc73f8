#include "kernels.h"
#include "requant.h"

enum { BLOCK = 64, ROWS = 256 }; /* 256 int8 always fit an int16 sum */

static void add_words(int32_t *acc, __m512i sum, size_t left)
{
    const __mmask16 lo = ek_mask16(left), hi = ek_mask16(left > 16 ? left - 16 : 0);
    const __m512i a = _mm512_cvtepi16_epi32(_mm512_castsi512_si256(sum));
    const __m512i b = _mm512_cvtepi16_epi32(_mm512_extracti64x4_epi64(sum, 1));
    _mm512_mask_storeu_epi32(acc, lo, _mm512_add_epi32(_mm512_maskz_loadu_epi32(lo, acc), a));
    if (hi) _mm512_mask_storeu_epi32(acc + 16, hi, _mm512_add_epi32(_mm512_maskz_loadu_epi32(hi, acc + 16), b));
}

/* Up to 64 channels of up to ROWS rows. */
static void sum_block(int32_t *acc, const int8_t *in, size_t step, size_t rows, size_t left)
{
    const __mmask64 exist = ek_mask64(left);
    __m512i lo = _mm512_setzero_si512(), hi = lo;
    for (size_t i = 0; i < rows; i++, in += step) {
        const __m512i x = _mm512_maskz_loadu_epi8(exist, in);
        lo = _mm512_add_epi16(lo, _mm512_cvtepi8_epi16(_mm512_castsi512_si256(x)));
        hi = _mm512_add_epi16(hi, _mm512_cvtepi8_epi16(_mm512_extracti64x4_epi64(x, 1)));
    }
    add_words(acc, lo, left);
    if (left > 32) add_words(acc + 32, hi, left - 32);
}

void ek_avx512_sum_s8(int32_t *acc, const int8_t *in, size_t step, size_t count, size_t c)
{
    for (size_t row = 0; row < count; row += ROWS) {
        const size_t rows = count - row < ROWS ? count - row : ROWS;
        for (size_t j = 0; j < c; j += BLOCK) sum_block(acc + j, in + row * step + j, step, rows, c - j);
    }
}

void ek_avx512_max_s8(int8_t *out, const int8_t *in, size_t step, size_t count, size_t c)
{
    for (size_t j = 0; j < c; j += BLOCK) {
        const __mmask64 exist = ek_mask64(c - j);
        __m512i most = _mm512_maskz_loadu_epi8(exist, out + j);
        for (size_t i = 0; i < count; i++)
            most = _mm512_max_epi8(most, _mm512_maskz_loadu_epi8(exist, in + i * step + j));
        _mm512_mask_storeu_epi8(out + j, exist, most);
    }
}

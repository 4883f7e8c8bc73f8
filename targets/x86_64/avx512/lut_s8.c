#include "kernels.h"
#include "requant.h"

enum { BLOCK = 64, GROUP = BLOCK, TILE = GROUP, LEAST = 24 };

#include "kernels_ref/channel_tiles.h"

/* The table as 128 words of 2 bytes: vpermi2w looks up 64 words at once, the low bit of an index
 * picks the byte. (vpermi2b would do with less, but not every CPU with VNNI has it.) */
EK_INLINE __m512i look_up(__m512i index, const __m512i *t)
{
    const __m512i low = _mm512_set1_epi16(0xff);
    const __m512i even = _mm512_and_si512(index, low), odd = _mm512_srli_epi16(index, 8);
    __m512i found[2];
    const __m512i in[2] = { even, odd };
#pragma GCC unroll 2
    for (int i = 0; i < 2; i++) {
        const __m512i word = _mm512_srli_epi16(in[i], 1);
        const __m512i lower = _mm512_permutex2var_epi16(t[0], word, t[1]);
        const __m512i upper = _mm512_permutex2var_epi16(t[2], word, t[3]);
        const __m512i pair =
            _mm512_mask_blend_epi16(_mm512_test_epi16_mask(in[i], _mm512_set1_epi16(0x80)), lower, upper);
        const __m512i shift = _mm512_slli_epi16(_mm512_and_si512(in[i], _mm512_set1_epi16(1)), 3);
        found[i] = _mm512_and_si512(_mm512_srlv_epi16(pair, shift), low);
    }
    return _mm512_or_si512(found[0], _mm512_slli_epi16(found[1], 8));
}

EK_INLINE void load_table(__m512i t[4], const int8_t *table)
{
    for (int i = 0; i < 4; i++) t[i] = _mm512_loadu_si512(table + BLOCK * i);
}

void ek_avx512_lut_s8(int8_t *out, const int8_t *in, size_t count, const int8_t *table)
{
    __m512i t[4];
    load_table(t, table);
    const __m512i flip = _mm512_set1_epi8(INT8_MIN);
    for (size_t at = 0; at < count; at += BLOCK) {
        const __mmask64 exist = ek_mask64(count - at);
        const __m512i index = _mm512_xor_si512(_mm512_maskz_loadu_epi8(exist, in + at), flip);
        _mm512_mask_storeu_epi8(out + at, exist, look_up(index, t));
    }
}

/* Rows of 16 bytes, 16 in each quarter of the vectors, to columns in their order, and back. Four times, bytes are
 * shuffled with those of the eighth vector behind. */
EK_INLINE void turn(__m512i a[16])
{
    __m512i b[16];
#pragma GCC unroll 2
    for (int half = 0; half < 2; half++) {
#pragma GCC unroll 8
        for (int i = 0; i < 8; i++) {
            b[2 * i] = _mm512_unpacklo_epi8(a[i], a[i + 8]);
            b[2 * i + 1] = _mm512_unpackhi_epi8(a[i], a[i + 8]);
        }
#pragma GCC unroll 8
        for (int i = 0; i < 8; i++) {
            a[2 * i] = _mm512_unpacklo_epi8(b[i], b[i + 8]);
            a[2 * i + 1] = _mm512_unpackhi_epi8(b[i], b[i + 8]);
        }
    }
}

EK_INLINE __m512i load_rows(const int8_t *in, size_t step)
{
#define ROWS(i) _mm_loadu_si128((const __m128i *)(in + (i) * step))
    const __m512i low = _mm512_inserti32x4(_mm512_castsi128_si512(ROWS(0)), ROWS(16), 1);
    return _mm512_inserti32x4(_mm512_inserti32x4(low, ROWS(32), 2), ROWS(48), 3);
#undef ROWS
}

EK_INLINE void store_rows(int8_t *out, size_t step, __m512i v)
{
    _mm_storeu_si128((__m128i *)out, _mm512_castsi512_si128(v));
    _mm_storeu_si128((__m128i *)(out + 16 * step), _mm512_extracti32x4_epi32(v, 1));
    _mm_storeu_si128((__m128i *)(out + 32 * step), _mm512_extracti32x4_epi32(v, 2));
    _mm_storeu_si128((__m128i *)(out + 48 * step), _mm512_extracti32x4_epi32(v, 3));
}

static void tile(int8_t *out, const int8_t *in, size_t step, size_t groups, const int8_t *const *tables)
{
    const __m512i flip = _mm512_set1_epi8(INT8_MIN);
    for (; groups; groups--, in += GROUP * step, out += GROUP * step) {
        __m512i v[CHANNELS], t[4];
#pragma GCC unroll 16
        for (size_t i = 0; i < CHANNELS; i++) v[i] = load_rows(in + i * step, step);
        turn(v);
        for (int c = 0; c < CHANNELS; c++) {
            load_table(t, tables[c]);
            v[c] = look_up(_mm512_xor_si512(v[c], flip), t);
        }
        turn(v);
#pragma GCC unroll 16
        for (size_t i = 0; i < CHANNELS; i++) store_rows(out + i * step, step, v[i]);
    }
}

void ek_avx512_channel_lut_s8(int8_t *out, const int8_t *in, size_t rows, const ek_channel_lut_s8 *p)
{
    run_tiles(out, in, rows, p);
}

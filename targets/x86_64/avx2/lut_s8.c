#include "kernels.h"
#include "requant.h"

enum { BLOCK = 32, GROUP = BLOCK, TILE = GROUP, LEAST = 24 };

#include "kernels_ref/channel_tiles.h"

/* 16 lines of 16 entries: vpshufb looks up the low 4 bits in each, the high 4 bits choose among them, one after the
 * other: vpblendvb reads the highest bit of bytes. */
EK_INLINE __m256i look_up(__m256i x, const int8_t *table)
{
    const __m256i index = _mm256_xor_si256(x, _mm256_set1_epi8(INT8_MIN));
    const __m256i low = _mm256_and_si256(index, _mm256_set1_epi8(15));
    __m256i found[31];
#pragma GCC unroll 16
    for (int i = 0; i < 16; i++)
        found[i] =
            _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)(table + 16 * i))), low);
    const __m256i bit[4] = { _mm256_slli_epi16(index, 3), _mm256_slli_epi16(index, 2), _mm256_slli_epi16(index, 1),
                             index };
#pragma GCC unroll 16
    for (int i = 0; i < 15; i++) /* 8, 4, 2, and the last one */
        found[16 + i] = _mm256_blendv_epi8(found[2 * i], found[2 * i + 1], bit[(i >= 8) + (i >= 12) + (i >= 14)]);
    return found[30];
}

void ek_avx2_lut_s8(int8_t *out, const int8_t *in, size_t count, const int8_t *table)
{
    size_t at = 0;
    for (; count - at >= BLOCK; at += BLOCK)
        _mm256_storeu_si256((__m256i *)(out + at), look_up(_mm256_loadu_si256((const __m256i *)(in + at)), table));
    for (; at < count; at++) out[at] = table[in[at] + 128];
}

/* Rows of 16 bytes, 16 in each half of the vectors, to columns in their order, and back. Four times, bytes are
 * shuffled with those of the eighth vector behind. */
EK_INLINE void turn(__m256i a[16])
{
    __m256i b[16];
#pragma GCC unroll 2
    for (int half = 0; half < 2; half++) {
#pragma GCC unroll 8
        for (int i = 0; i < 8; i++) {
            b[2 * i] = _mm256_unpacklo_epi8(a[i], a[i + 8]);
            b[2 * i + 1] = _mm256_unpackhi_epi8(a[i], a[i + 8]);
        }
#pragma GCC unroll 8
        for (int i = 0; i < 8; i++) {
            a[2 * i] = _mm256_unpacklo_epi8(b[i], b[i + 8]);
            a[2 * i + 1] = _mm256_unpackhi_epi8(b[i], b[i + 8]);
        }
    }
}

static void tile(int8_t *out, const int8_t *in, size_t step, size_t groups, const int8_t *const *tables)
{
    for (; groups; groups--, in += GROUP * step, out += GROUP * step) {
        __m256i v[CHANNELS];
#pragma GCC unroll 16
        for (size_t i = 0; i < CHANNELS; i++)
            v[i] = _mm256_loadu2_m128i((const __m128i *)(in + (i + 16) * step), (const __m128i *)(in + i * step));
        turn(v);
        for (int c = 0; c < CHANNELS; c++) v[c] = look_up(v[c], tables[c]);
        turn(v);
#pragma GCC unroll 16
        for (size_t i = 0; i < CHANNELS; i++)
            _mm256_storeu2_m128i((__m128i *)(out + (i + 16) * step), (__m128i *)(out + i * step), v[i]);
    }
}

void ek_avx2_channel_lut_s8(int8_t *out, const int8_t *in, size_t rows, const ek_channel_lut_s8 *p)
{
    run_tiles(out, in, rows, p);
}

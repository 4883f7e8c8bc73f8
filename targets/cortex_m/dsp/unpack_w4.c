/* Pairs of channels, as pack.c writes them, from rows of nibbles: 8 weights at a time, as bytes of two words. */
#include <string.h>

#include "kernels.h"

#define INLINE static inline __attribute__((always_inline))

/* Four nibbles of each channel, to bytes b0 a0 b2 a2 and b1 a1 b3 a3, times a multiplier for each channel. */
typedef struct scale {
    uint32_t b, a, offset; /* 256 * a's; 128 - 8 * the multiplier in every byte */
} scale;

static scale scale_of(uint32_t b, uint32_t a)
{
    return (scale){ b, a << 8, (128 - 8 * b) * 0x00010001 + (128 - 8 * a) * 0x01000100 };
}

/* Nibbles are 0 to 15 here, 8 more than they mean. */
INLINE uint32_t scaled(uint32_t nibbles, scale s)
{
    return (((nibbles & 0x000f000f) * s.b + (nibbles >> 8 & 0x000f000f) * s.a) + s.offset) ^ 0x80008000;
}

INLINE uint32_t *unpack_4(uint32_t *to, uint32_t b, uint32_t a, scale s)
{
    const uint32_t spread = ((b | b << 8) & 0x00ff00ff) | ((a | a << 8) & 0x00ff00ff) << 8,
                   biased = spread ^ 0x88888888;
    *to++ = scaled(biased, s);
    *to++ = scaled(biased >> 4, s);
    return to;
}

/* The bytes of up to four nibbles. */
static uint32_t load(const uint8_t *row, uint32_t nibbles)
{
    return nibbles > 2 ? row[0] | (uint32_t)row[1] << 8 : row[0];
}

static uint32_t *unpack_pair(uint32_t *to, const uint8_t *b, const uint8_t *a, const uint8_t *b_multiplier,
                             const uint8_t *a_multiplier, const ek_w4 *w)
{
    for (uint32_t i = 0; i < w->k;) {
        const uint32_t end = w->group && w->k - i > w->group ? i + w->group : w->k;
        const scale s = w->group ? scale_of(*b_multiplier++, *a_multiplier++) : scale_of(1, 1);
        for (; end - i >= 4; i += 4, b += 2, a += 2) to = unpack_4(to, load(b, 4), load(a, 4), s);
        if (i < end) {
            to = unpack_4(to, load(b, end - i), load(a, end - i), s);
            i = end;
        }
    }
    return to;
}

/* A pair of channels whose groups end within fours. */
static uint32_t *unpack_pair_slowly(uint32_t *to, const uint8_t *b, const uint8_t *a, const uint8_t *b_multipliers,
                                    const uint8_t *a_multipliers, const ek_w4 *w)
{
    const uint32_t fours = w->k / 4 + (w->k % 4 != 0);
    for (uint32_t i = 0; i < w->k; i++) {
        const scale s = scale_of(b_multipliers[i / w->group], a_multipliers[i / w->group]);
        uint32_t both[2];
        (void)unpack_4(both, b[i / 2] >> i % 2 * 4, a[i / 2] >> i % 2 * 4, s);
        memcpy((uint8_t *)(to + i / 4 * 2 + i % 2) + i % 4 / 2 * 2, both, 2);
    }
    return to + fours * 2;
}

void ek_dsp_unpack_gemm_w4(void *packed, const ek_w4 *w, const int32_t *bias, uint32_t n)
{
    const size_t row = w->k / 2 + w->k % 2, groups = w->group ? w->k / w->group + (w->k % w->group != 0) : 0;
    uint32_t *to = packed;
    (void)bias;
    for (uint32_t j = 0; j < n; j += 2) {
        const uint8_t *b = w->nibbles + j * row, *multipliers = w->multipliers + j * groups;
        const size_t other = j + 1 < n; /* a single last channel is its own partner */
        if (w->group % 4)
            to = unpack_pair_slowly(to, b, b + other * row, multipliers, multipliers + other * groups, w);
        else
            to = unpack_pair(to, b, b + other * row, multipliers, multipliers + other * groups, w);
    }
}

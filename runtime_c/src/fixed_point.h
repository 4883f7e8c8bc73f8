/* The one rounding that every integer kernel shares (docs/arithmetic.md). */
#ifndef EK_FIXED_POINT_H
#define EK_FIXED_POINT_H

#include <stdbool.h>
#include <stdint.h>

static inline int32_t ek_clamp(int32_t v, int32_t lo, int32_t hi)
{
    return v < lo ? lo : v > hi ? hi : v;
}

/* acc * multiplier * 2^(shift - 31), half up twice, or once where shift is not below 0. The toolkit proves |acc <<
 * left| < 2^30; numbers of a hostile file wrap, hence the unsigned sums. */
static inline int32_t ek_scale(int32_t acc, int32_t multiplier, int32_t shift)
{
    const int32_t left = shift > 0 ? shift : 0, right = shift < 0 ? -shift : 0;
    const int32_t a = (int32_t)((uint32_t)acc << left);
    const int32_t h = (int32_t)(((int64_t)a * multiplier + (INT64_C(1) << 30)) >> 31);
    return right ? (int32_t)((uint32_t)h + (UINT32_C(1) << (right - 1))) >> right : h;
}

/* What ek_scale asks of them. */
static inline bool ek_is_ratio(int32_t multiplier, int32_t shift)
{
    return multiplier > 0 && shift >= -30 && shift <= 30;
}

static inline int8_t ek_requantize(int32_t acc, int32_t multiplier, int32_t shift, int32_t zero_point, int32_t qmin,
                                   int32_t qmax)
{
    const uint32_t q = (uint32_t)ek_scale(acc, multiplier, shift) + (uint32_t)zero_point;
    return (int8_t)ek_clamp((int32_t)q, qmin, qmax);
}

/* acc * multiplier * 2^-shift, half up once, for multiplier in [2^22, 2^23) and shift in [1, 62]; beyond
 * 2^30 that is what comes back. The toolkit proves |acc| < 2^39; numbers of a hostile file wrap. */
static inline int32_t ek_scale16(int64_t acc, int32_t multiplier, uint32_t shift)
{
    const uint64_t low = (uint64_t)(uint32_t)acc * (uint32_t)multiplier;
    const uint64_t high = (uint64_t)((uint32_t)((uint64_t)acc >> 32) * (uint32_t)multiplier) << 32;
    const int64_t r = (int64_t)(low + high + (UINT64_C(1) << (shift - 1))) >> shift, most = INT64_C(1) << 30;
    return (int32_t)(r < -most ? -most : r > most ? most : r);
}

/* What ek_scale16 asks of them. */
static inline bool ek_is_ratio16(int32_t multiplier, int32_t shift)
{
    return multiplier >= 1 << 22 && multiplier < 1 << 23 && shift >= 1 && shift <= 62;
}

static inline int16_t ek_requantize16(int64_t acc, int32_t multiplier, uint32_t shift, int32_t qmin, int32_t qmax)
{
    return (int16_t)ek_clamp(ek_scale16(acc, multiplier, shift), qmin, qmax);
}

/* r and *exponent for which 2^-44 * r * 2^-*exponent is 1 / sqrt(radicand), from 2^-28 of it below to
 * 2^-28 above; r is below 2^30. radicand in [1, 2^63). No logical shift of 64 bits, which small cores lack. */
static inline int32_t ek_inverse_root(int64_t radicand, int32_t *exponent)
{
    int64_t m = radicand; /* to be in [2^28, 2^30) */
    int32_t e = 0;
    for (; m >= INT64_C(1) << 30; e++) m >>= 2;
    for (; m < INT64_C(1) << 28; e--) m *= 4;
    int32_t root = 1 << 15; /* the largest below 2^16 with root^2 * m <= 2^60 */
    for (int32_t bit = 1 << 14; bit; bit >>= 1) {
        const int32_t more = root | bit;
        if (m * (int64_t)((uint32_t)more * (uint32_t)more) <= INT64_C(1) << 60) root = more;
    }
    const int64_t left = (INT64_C(1) << 60) - m * (int64_t)((uint32_t)root * (uint32_t)root);
    *exponent = e;
    return (root << 14) + (int32_t)((root * (left >> 15)) >> 32); /* one step of Newton's method */
}

#endif

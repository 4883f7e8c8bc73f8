/* IEEE 754 binary16, as its bits. */
#ifndef EK_HALF_H
#define EK_HALF_H

#include <stdint.h>
#include <string.h>

static inline float ek_float_of_bits(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline uint32_t ek_bits_of_float(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static inline float ek_half_to_float(uint16_t half)
{
    const uint32_t sign = (uint32_t)(half & 0x8000) << 16, rest = (uint32_t)(half & 0x7fff) << 13;
    /* 2^112 brings the exponent to the bias of a float; what overflows is infinite or NaN. */
    const float size = ek_float_of_bits(rest) * 0x1p112f;
    const uint32_t infinite = size >= 65536.0f ? UINT32_C(0x7f800000) : 0;
    return ek_float_of_bits(ek_bits_of_float(size) | infinite | sign);
}

/* To nearest, half to even. */
static inline uint16_t ek_half_of_float(float value)
{
    const uint32_t bits = ek_bits_of_float(value), sign = bits >> 16 & 0x8000, size = bits & 0x7fffffff;
    if (size > UINT32_C(0x7f800000)) return (uint16_t)(sign | 0x7e00);
    if (size >= UINT32_C(0x477ff000)) return (uint16_t)(sign | 0x7c00); /* 65520 and on */
    if (size < UINT32_C(0x38800000)) {                                  /* 2^-14: what is below has one step */
        const float shifted = ek_float_of_bits(size) + 0.5f;            /* whose lowest bit is 2^-24 */
        return (uint16_t)(sign | (ek_bits_of_float(shifted) - UINT32_C(0x3f000000)));
    }
    const uint32_t odd = size >> 13 & 1;
    return (uint16_t)(sign | ((size - UINT32_C(0x38000000) + 0xfff + odd) >> 13));
}

#endif

/* ek_requantize16 of fixed_point.h for sums that fit int32, bit for bit: with the multiplier in the top bits
 * of a word, only the high word of the product matters to shifts that are not too small. */
#ifndef EK_CORTEX_M_REQUANT16_H
#define EK_CORTEX_M_REQUANT16_H

#include "fixed_point.h"

enum { EK_M_LEAST_SHIFT16 = 25 };

static inline int32_t ek_m_multiplier16(int32_t multiplier)
{
    return (int32_t)((uint32_t)multiplier << 8);
}

/* Of bias + sum, which is below 2^32, so that the product is below 2^63. multiplier: see above; shift: less
 * EK_M_LEAST_SHIFT16. */
static inline int16_t ek_m_scale16(int32_t sum, int32_t bias, int32_t multiplier, uint32_t shift, int32_t qmin,
                                   int32_t qmax)
{
    int32_t q = (int32_t)(((int64_t)bias * multiplier + (int64_t)sum * multiplier) >> 32);
    __asm__("asr %0, %1, %2" : "=r"(q) : "r"(q), "r"(shift)); /* also by 32 and more */
    __asm__("ssat %0, #17, %1" : "=r"(q) : "r"(q));           /* int16 once it is halved */
    return (int16_t)ek_clamp((q + 1) >> 1, qmin, qmax);
}

#endif

/* ek_requantize16 of fixed_point.h for accumulators that fit int32, bit for bit: with the multiplier in the
 * top bits of a word, only the high word of the product matters to all usual shifts. */
#ifndef EK_CORTEX_M_REQUANT16_H
#define EK_CORTEX_M_REQUANT16_H

#include "fixed_point.h"

typedef struct ek_m_ratio16 {
    int32_t multiplier, half;
    uint32_t shift;
} ek_m_ratio16;

/* Others need ek_requantize16. */
static inline bool ek_m_is_usual16(uint32_t shift)
{
    return shift >= 25 && shift <= 55;
}

static inline ek_m_ratio16 ek_m_ratio16_from(int32_t multiplier, uint32_t shift)
{
    return (ek_m_ratio16){ (int32_t)((uint32_t)multiplier << 8), INT32_C(1) << (shift - 25), shift - 24 };
}

static inline int16_t ek_m_scale16(int32_t acc, ek_m_ratio16 ratio, int32_t qmin, int32_t qmax)
{
    int32_t high;
    __asm__("smmla %0, %1, %2, %3" : "=r"(high) : "r"(acc), "r"(ratio.multiplier), "r"(ratio.half));
    return (int16_t)ek_clamp(high >> ratio.shift, qmin, qmax);
}

#endif

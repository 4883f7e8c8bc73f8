/* ek_requantize without a product of 64 bits, which ARMv6-M has to call a function for. */
#ifndef EK_CORTEX_M_M0_REQUANT_H
#define EK_CORTEX_M_M0_REQUANT_H

#include "edgekit/kernels.h"
#include "fixed_point.h"

/* (a * m + 2^30) >> 31 from products of halves; m is positive. */
static inline int32_t ek_m0_scale(int32_t a, int32_t m)
{
    const uint32_t a_low = (uint32_t)a & 0xffff, m_low = (uint32_t)m & 0xffff, m_high = (uint32_t)m >> 16;
    const int32_t a_high = a >> 16;
    const uint32_t cross = a_low * m_high + (a_low * m_low >> 16);
    const int32_t middle = (int32_t)(cross & 0xffff) + a_high * (int32_t)m_low;
    const int32_t high = a_high * (int32_t)m_high + (int32_t)(cross >> 16) + (middle >> 16);
    return (int32_t)((uint32_t)high << 1) + (int32_t)((((uint32_t)middle & 0xffff) >> 14) + 1) / 2;
}

static inline int8_t ek_m0_requantize(int32_t acc, const ek_requant *r, size_t j)
{
    const int32_t shift = r->shift[j], right = shift < 0 ? -shift : 0;
    int32_t v = ek_m0_scale(shift > 0 ? (int32_t)((uint32_t)acc << shift) : acc, r->multiplier[j]);
    if (right) v = (int32_t)((uint32_t)v + (UINT32_C(1) << (right - 1))) >> right;
    return (int8_t)ek_clamp((int32_t)((uint32_t)v + (uint32_t)r->zero_point), r->qmin, r->qmax);
}

#endif

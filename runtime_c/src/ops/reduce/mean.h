/* Integer means and sums: what average pooling and reductions check alike. */
#ifndef EK_MEAN_H
#define EK_MEAN_H

#include "fixed_point.h"
#include "ops/heavy_checks.h"

/* Sums are requantized in sixteenths: with a ratio near 1, as of small windows, the first of the
 * two roundings would show. */
enum { EK_MEAN_UNIT = 16 };

/* A sum of `count` differences q - input_zero, requantized thus, never leaves 31 bits. */
static inline bool ek_check_mean(uint64_t count, int32_t input_zero, int32_t multiplier, int32_t shift)
{
    if (!ek_is_ratio(multiplier, shift)) return false;
    const uint64_t limit = UINT64_C(1) << (shift > 0 ? 30 - shift : 30);
    return ek_mul64(count, (uint64_t)ek_reach_s8(input_zero) * EK_MEAN_UNIT) < limit;
}

#endif

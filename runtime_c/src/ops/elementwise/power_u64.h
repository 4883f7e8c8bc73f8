#ifndef EK_POWER_U64_H
#define EK_POWER_U64_H

#include <stdint.h>

/* x to the power of y, modulo 2^64. */
static inline uint64_t ek_power_u64(uint64_t x, uint64_t y)
{
    uint64_t result = 1;
    for (; y; y >>= 1, x *= x)
        if (y & 1) result *= x;
    return result;
}

#endif

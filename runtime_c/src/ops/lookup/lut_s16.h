/* A table of 513 results, every 128 steps, and straight lines between. */
#ifndef EK_LUT_S16_H
#define EK_LUT_S16_H

#include <stdint.h>

enum { LUT_S16_POINTS = 513, LUT_S16_STEP_BITS = 7 };

static inline int16_t lut_s16(const int16_t *table, int16_t q)
{
    const uint32_t u = (uint32_t)(q + 32768);
    const int16_t *t = table + (u >> LUT_S16_STEP_BITS);
    const int32_t f = (int32_t)(u & ((1 << LUT_S16_STEP_BITS) - 1)), half = 1 << (LUT_S16_STEP_BITS - 1);
    return (int16_t)(t[0] + (((t[1] - t[0]) * f + half) >> LUT_S16_STEP_BITS));
}

#endif

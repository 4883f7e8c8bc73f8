/* Requantization by SMMLAR, which rounds and adds, in one instruction, what the right shift rounds with
 * and the zero point: exact, as |2 * acc| < 2^31 by contract. Portable, for packing too. */
#ifndef EK_CORTEX_M_DSP_SHIFT_H
#define EK_CORTEX_M_DSP_SHIFT_H

#include <stdint.h>

enum { EK_DSP_MOST_SHIFT = 22 };

/* The zero point and a half, to be shifted right by `shift` in [0, EK_DSP_MOST_SHIFT]. */
static inline int32_t ek_dsp_add(int32_t zero_point, int32_t shift)
{
    return (int32_t)((uint32_t)(2 * zero_point + 1) << shift) >> 1;
}

#endif

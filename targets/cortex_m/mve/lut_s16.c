#include <arm_mve.h>

#include "kernels.h"

enum { LANES = 8, STEP_BITS = 7 };

/* A point and the next, by their distances to the element: their products fit 32 bits, their difference need not fit
 * 16. */
void ek_mve_lut_s16(int16_t *out, const int16_t *in, size_t count, const int16_t *table)
{
    const uint16x8_t middle = vdupq_n_u16(0x8000), rest = vdupq_n_u16((1 << STEP_BITS) - 1);
    const int16x8_t whole = vdupq_n_s16(1 << STEP_BITS);
    for (; count; in += LANES, out += LANES) {
        const mve_pred16_t left = vctp16q((uint32_t)count);
        const uint16x8_t u = veorq_u16(vldrhq_z_u16((const uint16_t *)in, left), middle);
        const uint16x8_t at = vshrq_n_u16(u, STEP_BITS);
        const int16x8_t to = vreinterpretq_s16_u16(vandq_u16(u, rest)), from = vsubq_s16(whole, to);
        const int16x8_t a = vldrhq_gather_shifted_offset_z_s16(table, at, left);
        const int16x8_t b = vldrhq_gather_shifted_offset_z_s16(table + 1, at, left);
        const int32x4_t even = vaddq_s32(vmullbq_int_s16(a, from), vmullbq_int_s16(b, to));
        const int32x4_t odd = vaddq_s32(vmulltq_int_s16(a, from), vmulltq_int_s16(b, to));
        vstrhq_p_s16(out, vrshrntq_n_s32(vrshrnbq_n_s32(a, even, STEP_BITS), odd, STEP_BITS), left);
        count -= count < LANES ? count : LANES;
    }
}

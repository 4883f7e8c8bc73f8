#include <arm_mve.h>

#include "kernels.h"
#include "kernels_ref/reference.h"

enum { LANES = 4, LOW_BITS = 12 };

/* Multipliers are of 24 bits: what their lower 12 make, and what the others make, fit 32 bits. A floor of a floor is
 * the floor of both, and half of a unit is a multiple of 2^12 where the shift is larger. */
void ek_mve_add_s16(int16_t *out, const int16_t *a, const int16_t *b, size_t b_step, size_t count, const ek_add_s16 *p)
{
    if (p->shift <= LOW_BITS) {
        ek_add_s16_ref(out, a, b, b_step, count, p);
        return;
    }
    const int32_t mask = (1 << LOW_BITS) - 1, shift = LOW_BITS - p->shift;
    const int32_t a_high = p->a_multiplier >> LOW_BITS, a_low = p->a_multiplier & mask;
    const int32_t b_high = p->b_multiplier >> LOW_BITS, b_low = p->b_multiplier & mask;
    const int32x4_t qmin = vdupq_n_s32(p->qmin), qmax = vdupq_n_s32(p->qmax);
    for (; count; a += LANES, b += b_step * LANES, out += LANES) {
        const mve_pred16_t left = vctp32q((uint32_t)count);
        const int32x4_t x = vldrhq_z_s32(a, left), y = b_step ? vldrhq_z_s32(b, left) : vdupq_n_s32(*b);
        const int32x4_t high = vmlaq_n_s32(vmulq_n_s32(x, a_high), y, b_high);
        const int32x4_t low = vmlaq_n_s32(vmulq_n_s32(x, a_low), y, b_low);
        const int32x4_t v = vrshlq_n_s32(vaddq_s32(high, vshrq_n_s32(low, LOW_BITS)), shift);
        vstrhq_p_s32(out, vminq_s32(vmaxq_s32(v, qmin), qmax), left);
        count -= count < LANES ? count : LANES;
    }
}

/* ek_scale of fixed_point.h on 4 channels at a time, bit for bit: vqrdmulh rounds its doubled product
 * just so, and vrshl by a negative count rounds half up. */
#ifndef EK_CORTEX_M_MVE_REQUANT_H
#define EK_CORTEX_M_MVE_REQUANT_H

#include <arm_mve.h>
#include <stdbool.h>

#define EK_INLINE static inline __attribute__((always_inline))

EK_INLINE int32x4_t ek_mve_scale(int32x4_t acc, int32x4_t multiplier, int32x4_t shift)
{
    const int32x4_t zero = vdupq_n_s32(0), shifted = vshlq_s32(acc, vmaxq_s32(shift, zero));
    return vrshlq_s32(vqrdmulhq_s32(shifted, multiplier), vminq_s32(shift, zero));
}

static inline bool ek_mve_any_left(const int8_t *shift, size_t n)
{
    int8x16_t most = vdupq_n_s8(0);
    for (; n >= 16; n -= 16, shift += 16) most = vmaxq_s8(most, vldrbq_s8(shift));
    most = vmaxq_s8(most, vldrbq_z_s8(shift, vctp8q((uint32_t)n)));
    return vmaxvq_s8(0, most) > 0;
}

#endif

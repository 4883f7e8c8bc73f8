/* ek_requantize16 of fixed_point.h on 4 channels, bit for bit: a sum of 39 bits times 23 in two halves
 * of 32 bits, and vrshl by a negative count rounds half up without overflow on the way. */
#ifndef EK_NEON_REQUANT16_H
#define EK_NEON_REQUANT16_H

#include "requant.h"

/* Of 4 channels; shifts are negative. */
typedef struct ek_ratios4 {
    int32x4_t m;
    int64x2_t shift[2];
} ek_ratios4;

EK_INLINE ek_ratios4 ek_ratios_from(int32x4_t m, int32x4_t shift)
{
    const int32x4_t down = vnegq_s32(shift);
    return (ek_ratios4){ m, { vmovl_s32(vget_low_s32(down)), vmovl_s32(vget_high_s32(down)) } };
}

EK_INLINE int64x2_t ek_scale2(int64x2_t acc, int32x2_t m, int64x2_t shift)
{
    enum { LOW = 20 };
    const int32x2_t low = vand_s32(vmovn_s64(acc), vdup_n_s32((1 << LOW) - 1));
    const int64x2_t high = vshlq_n_s64(vmull_s32(vshrn_n_s64(acc, LOW), m), LOW);
    return vrshlq_s64(vmlal_s32(high, low, m), shift);
}

EK_INLINE int16x4_t ek_requantize4(int64x2_t lo, int64x2_t hi, const ek_ratios4 *r, int16x4_t qmin, int16x4_t qmax)
{
    const int32x4_t v = vcombine_s32(vqmovn_s64(ek_scale2(lo, vget_low_s32(r->m), r->shift[0])),
                                     vqmovn_s64(ek_scale2(hi, vget_high_s32(r->m), r->shift[1])));
    return vmin_s16(vmax_s16(vqmovn_s32(v), qmin), qmax);
}

#endif

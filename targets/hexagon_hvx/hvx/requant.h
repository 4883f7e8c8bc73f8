/* ek_requantize of fixed_point.h on 32 channels at a time, bit for bit: vmpye and vmpyo together are
 * (a * m + 2^30) >> 31 with its one rounding.
 */
#ifndef EK_HEXAGON_REQUANT_H
#define EK_HEXAGON_REQUANT_H

#include "vectors.h"

typedef struct ek_channels32 {
    HVX_Vector bias, multiplier, left, right, half;
} ek_channels32;

typedef struct ek_output128 {
    HVX_Vector zero_point; /* halfwords */
    HVX_Vector qmin, qmax; /* bytes */
} ek_output128;

EK_INLINE ek_channels32 ek_channels_from(HVX_Vector bias, HVX_Vector multiplier, HVX_Vector shift)
{
    const HVX_Vector zero = Q6_V_vzero(), one = Q6_V_vsplat_R(1);
    ek_channels32 c = { .bias = bias, .multiplier = multiplier };
    c.left = Q6_Vw_vmax_VwVw(shift, zero);
    c.right = Q6_Vw_vsub_VwVw(c.left, shift);
    c.half = Q6_Vuw_vlsr_VuwR(Q6_Vw_vasl_VwVw(one, c.right), 1);
    return c;
}

EK_INLINE HVX_Vector ek_scale32(HVX_Vector acc, const ek_channels32 *c)
{
    const HVX_Vector a = Q6_Vw_vasl_VwVw(acc, c->left);
    const HVX_Vector low = Q6_Vw_vmpye_VwVuh(a, c->multiplier);
    const HVX_Vector h = Q6_Vw_vmpyoacc_VwVwVh_s1_rnd_sat_shift(low, a, c->multiplier);
    return Q6_Vw_vasr_VwVw(Q6_Vw_vadd_VwVw(h, c->half), c->right);
}

EK_INLINE ek_output128 ek_output_from(int32_t zero_point, int32_t qmin, int32_t qmax)
{
    return (ek_output128){ ek_splat_half(zero_point), ek_splat_byte(qmin), ek_splat_byte(qmax) };
}

/* Zero point and clamp of 128 results, in their order. Saturation on the way does no harm: the zero
 * point is an int8 and the range is within int8. */
EK_INLINE HVX_Vector ek_narrow128(HVX_Vector r0, HVX_Vector r1, HVX_Vector r2, HVX_Vector r3, const ek_output128 *o)
{
    const HVX_Vector low = Q6_Vh_vadd_VhVh_sat(Q6_Vh_vpack_VwVw_sat(r1, r0), o->zero_point);
    const HVX_Vector high = Q6_Vh_vadd_VhVh_sat(Q6_Vh_vpack_VwVw_sat(r3, r2), o->zero_point);
    return Q6_Vb_vmin_VbVb(Q6_Vb_vmax_VbVb(Q6_Vb_vpack_VhVh_sat(high, low), o->qmin), o->qmax);
}

#endif

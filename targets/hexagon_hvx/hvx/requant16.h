/* ek_requantize16 of fixed_point.h on 32 sums at a time, bit for bit.
 *
 * A sum of 40 bits is 256 * high + low, low in [0, 255]. With P = high * m + (low * m >> 8) in 64 bits and s >= 9,
 * (sum * m + 2^(s-1)) >> s is (P + 2^(s-9)) >> (s - 8): what the shift drops of low * m is below its rounding. It is
 * done as P >> down, saturated to 32 bits, >> rest, and a rounded halving, where down + rest = s - 9. Saturated
 * values are beyond int16 when down is 2 or more; for shifts below 11 the sum is shifted left before.
 */
#ifndef EK_HEXAGON_REQUANT16_H
#define EK_HEXAGON_REQUANT16_H

#include <stdbool.h>

#include "vectors.h"

enum { EK_LEAST_SHIFT = 11 };

/* Words. */
typedef struct ek_ratios32 {
    HVX_Vector multiplier, early, down, up, rest, least, most;
    bool any_early;
} ek_ratios32;

typedef struct ek_sums32 {
    HVX_Vector high, low;
} ek_sums32;

EK_INLINE bool ek_any_word(HVX_Vector v)
{
    for (int32_t turn = 4; turn < EK_LINE; turn *= 2) v = Q6_V_vor_VV(v, Q6_V_vror_VR(v, turn));
    return Q6_R_vextract_VR(v, 0) != 0;
}

/* Of lanes that do not exist, shift is anything. */
EK_INLINE ek_ratios32 ek_ratios_from(HVX_Vector multiplier, HVX_Vector shift)
{
    const HVX_Vector zero = Q6_V_vzero(), one = Q6_V_vsplat_R(1);
    ek_ratios32 r = { .multiplier = multiplier };
    r.early = Q6_Vw_vmax_VwVw(Q6_Vw_vsub_VwVw(Q6_V_vsplat_R(EK_LEAST_SHIFT), shift), zero);
    const HVX_Vector all = Q6_Vw_vsub_VwVw(Q6_Vw_vadd_VwVw(shift, r.early), Q6_V_vsplat_R(9));
    r.down = Q6_Vw_vmin_VwVw(all, Q6_V_vsplat_R(31));
    r.up = Q6_Vw_vsub_VwVw(Q6_V_vsplat_R(32), r.down);
    r.rest = Q6_Vw_vsub_VwVw(all, r.down);
    const HVX_Vector limit = Q6_Vw_vasl_VwVw(one, Q6_Vw_vsub_VwVw(r.down, one));
    r.least = Q6_Vw_vsub_VwVw(zero, limit);
    r.most = Q6_Vw_vsub_VwVw(limit, one);
    r.any_early = ek_any_word(r.early);
    return r;
}

/* high holds what low has beyond 8 bits. */
EK_INLINE ek_sums32 ek_carry(ek_sums32 s)
{
    return (ek_sums32){ Q6_Vw_vadd_VwVw(s.high, Q6_Vw_vasr_VwR(s.low, 8)), Q6_V_vand_VV(s.low, Q6_V_vsplat_R(255)) };
}

/* Sums << early where that is not 0; those that leave 10 bits may as well stay at their ends. */
EK_INLINE ek_sums32 ek_shift_early(ek_sums32 s, const ek_ratios32 *r)
{
    const HVX_VectorPred some = Q6_Q_vcmp_gt_VwVw(r->early, Q6_V_vzero());
    const HVX_Vector high = Q6_Vw_vmin_VwVw(Q6_Vw_vmax_VwVw(s.high, Q6_V_vsplat_R(-2)), Q6_V_vsplat_R(1));
    const HVX_Vector sum = Q6_Vw_vasl_VwVw(Q6_Vw_vadd_VwVw(Q6_Vw_vasl_VwR(high, 8), s.low), r->early);
    const ek_sums32 shifted = ek_carry((ek_sums32){ Q6_V_vzero(), sum });
    return (ek_sums32){ Q6_V_vmux_QVV(some, shifted.high, s.high), Q6_V_vmux_QVV(some, shifted.low, s.low) };
}

/* Not clamped yet. */
EK_INLINE HVX_Vector ek_scale16(ek_sums32 s, const ek_ratios32 *r)
{
    s = ek_carry(s);
    if (r->any_early) s = ek_shift_early(s, r);
    const HVX_VectorPair even = Q6_W_vmpye_VwVuh(s.high, r->multiplier);
    const HVX_VectorPair product = Q6_W_vmpyoacc_WVwVh(even, s.high, r->multiplier);
    const HVX_Vector more = Q6_Vuw_vlsr_VuwR(Q6_Vw_vmpyie_VwVuh(r->multiplier, s.low), 8);
    const HVX_Vector low = Q6_Vw_vadd_VwVw(Q6_V_lo_W(product), more);
    HVX_Vector high = Q6_Vw_condacc_QVwVw(Q6_Q_vcmp_gt_VuwVuw(more, low), Q6_V_hi_W(product), Q6_V_vsplat_R(1));
    high = Q6_Vw_vmin_VwVw(Q6_Vw_vmax_VwVw(high, r->least), r->most);
    const HVX_Vector word = Q6_V_vor_VV(Q6_Vw_vasl_VwVw(high, r->up), Q6_Vw_vlsr_VwVw(low, r->down));
    return Q6_Vw_vavg_VwVw_rnd(Q6_Vw_vasr_VwVw(word, r->rest), Q6_V_vzero());
}

/* Halfwords. */
typedef struct ek_limits64 {
    HVX_Vector qmin, qmax;
} ek_limits64;

EK_INLINE ek_limits64 ek_limits_from(int32_t qmin, int32_t qmax)
{
    return (ek_limits64){ ek_splat_half(qmin), ek_splat_half(qmax) };
}

/* 64 results, in their order. */
EK_INLINE HVX_Vector ek_clamp64(HVX_Vector r0, HVX_Vector r1, const ek_limits64 *l)
{
    return Q6_Vh_vmin_VhVh(Q6_Vh_vmax_VhVh(Q6_Vh_vpack_VwVw_sat(r1, r0), l->qmin), l->qmax);
}

#endif

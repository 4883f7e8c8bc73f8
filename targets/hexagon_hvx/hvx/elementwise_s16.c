/* add_s16: multipliers of 24 bits are 2^12 times one halfword plus another, and the sum goes through the
 * requantization of accumulators, by a ratio of 2^22 * 2^-(22 + shift). */
#include "kernels.h"
#include "requant16.h"

enum { HALVES = EK_LINE / 2, SPLIT = 12, UNIT = 22 };

typedef struct factors {
    HVX_Vector high, low;
} factors;

EK_INLINE factors factors_of(int32_t multiplier)
{
    const int32_t half = 1 << (SPLIT - 1), low = ((multiplier + half) & (2 * half - 1)) - half;
    return (factors){ ek_splat_half((multiplier - low) >> SPLIT), ek_splat_half(low) };
}

/* Words of even halfwords, then of odd ones. */
EK_INLINE HVX_VectorPair products(HVX_Vector a, HVX_Vector ma, HVX_Vector b, HVX_Vector mb)
{
    return Q6_Ww_vmpyacc_WwVhVh(Q6_Ww_vmpy_VhVh(a, ma), b, mb);
}

EK_INLINE HVX_Vector scaled(HVX_Vector high, HVX_Vector low, const ek_ratios32 *r)
{
    return ek_scale16((ek_sums32){ Q6_Vw_vasl_VwR(high, SPLIT - 8), low }, r);
}

EK_INLINE HVX_Vector load_at(const int16_t *p, size_t left)
{
    return left >= HALVES ? ek_load(p) : ek_load_some(p, 2 * left);
}

void ek_hvx_add_s16(int16_t *out, const int16_t *a, const int16_t *b, size_t b_step, size_t count, const ek_add_s16 *p)
{
    const ek_ratios32 ratios = ek_ratios_from(Q6_V_vsplat_R(1 << UNIT), Q6_V_vsplat_R(UNIT + p->shift));
    const ek_limits64 limits = ek_limits_from(p->qmin, p->qmax);
    const factors ma = factors_of(p->a_multiplier), mb = factors_of(p->b_multiplier);
    const HVX_Vector constant = ek_splat_half(b_step || !count ? 0 : b[0]); /* before out, which may be b, is written */
    for (size_t at = 0; at < count; at += HALVES) {
        const size_t left = count - at;
        const HVX_Vector x = load_at(a + at, left), y = b_step ? load_at(b + at, left) : constant;
        const HVX_VectorPair high = products(x, ma.high, y, mb.high), low = products(x, ma.low, y, mb.low);
        const HVX_Vector even = scaled(Q6_V_lo_W(high), Q6_V_lo_W(low), &ratios);
        const HVX_Vector odd = scaled(Q6_V_hi_W(high), Q6_V_hi_W(low), &ratios);
        const HVX_Vector q = Q6_Vh_vsat_VwVw(odd, even);
        const HVX_Vector clamped = Q6_Vh_vmin_VhVh(Q6_Vh_vmax_VhVh(q, limits.qmin), limits.qmax);
        if (left >= HALVES)
            ek_store(out + at, clamped);
        else
            ek_store_some(out + at, clamped, 2 * left);
    }
}

/* add_s8 and mul_s8. Bytes are widened by taking every second one, twice; narrowing undoes it. */
#include "kernels.h"
#include "requant.h"

typedef struct operands {
    const int8_t *a, *b;
    size_t b_step;
    HVX_Vector constant; /* b[0] everywhere when b_step is 0 */
} operands;

/* b[0] is read before out, which may be b, is written. */
EK_INLINE operands operands_of(const int8_t *a, const int8_t *b, size_t b_step, size_t count)
{
    return (operands){ a, b, b_step, ek_splat_byte(b_step || !count ? 0 : b[0]) };
}

EK_INLINE HVX_Vector load_b(const operands *x, size_t at, size_t left)
{
    return x->b_step ? ek_load_at(x->b + at, left) : x->constant;
}

typedef struct range {
    HVX_Vector zero_point, qmin, qmax; /* halfwords */
} range;

EK_INLINE HVX_Vector clamp_halves(HVX_Vector odd, HVX_Vector even, const range *o)
{
    const HVX_Vector v = Q6_Vh_vadd_VhVh_sat(Q6_Vh_vsat_VwVw(odd, even), o->zero_point);
    return Q6_Vh_vmin_VhVh(Q6_Vh_vmax_VhVh(v, o->qmin), o->qmax);
}

EK_INLINE range range_of(int32_t zero_point, int32_t qmin, int32_t qmax)
{
    return (range){ ek_splat_half(zero_point), ek_splat_half(qmin), ek_splat_half(qmax) };
}

/* A multiplier as high * 2^16 + low, in halfwords; low is unsigned. */
typedef struct split {
    HVX_Vector high, low;
} split;

EK_INLINE split split_of(int32_t multiplier)
{
    return (split){ ek_splat_half(multiplier >> 16), ek_splat_half(multiplier) };
}

/* (a * ma + b * mb + bias) >> shift of 64 halfwords, all modulo 2^32. */
EK_INLINE HVX_Vector add_halves(HVX_Vector a, HVX_Vector b, const split *ma, const split *mb, HVX_Vector bias,
                                int32_t shift, const range *o)
{
    const HVX_VectorPair high = Q6_Ww_vmpyacc_WwVhVh(Q6_Ww_vmpy_VhVh(a, ma->high), b, mb->high);
    HVX_VectorPair sum = Q6_Ww_vmpyacc_WwVhVuh(Q6_W_vcombine_VV(bias, bias), a, ma->low);
    sum = Q6_Ww_vmpyacc_WwVhVuh(sum, b, mb->low);
    const HVX_Vector even = Q6_Vw_vaslacc_VwVwR(Q6_V_lo_W(sum), Q6_V_lo_W(high), 16);
    const HVX_Vector odd = Q6_Vw_vaslacc_VwVwR(Q6_V_hi_W(sum), Q6_V_hi_W(high), 16);
    return clamp_halves(Q6_Vw_vasr_VwR(odd, shift), Q6_Vw_vasr_VwR(even, shift), o);
}

void ek_hvx_add_s8(int8_t *out, const int8_t *a, const int8_t *b, size_t b_step, size_t count, const ek_add_s8 *p)
{
    const operands x = operands_of(a, b, b_step, count);
    const range o = range_of(0, p->qmin, p->qmax);
    const split ma = split_of(p->a_multiplier), mb = split_of(p->b_multiplier);
    const HVX_Vector bias = Q6_V_vsplat_R(p->bias);
    for (size_t at = 0; at < count; at += EK_LINE) {
        const HVX_VectorPair va = Q6_Wh_vsxt_Vb(ek_load_at(x.a + at, count - at));
        const HVX_VectorPair vb = Q6_Wh_vsxt_Vb(load_b(&x, at, count - at));
        const HVX_Vector even = add_halves(Q6_V_lo_W(va), Q6_V_lo_W(vb), &ma, &mb, bias, p->shift, &o);
        const HVX_Vector odd = add_halves(Q6_V_hi_W(va), Q6_V_hi_W(vb), &ma, &mb, bias, p->shift, &o);
        ek_store_at(out + at, Q6_Vb_vshuffe_VbVb(odd, even), count - at);
    }
}

EK_INLINE HVX_Vector mul_halves(HVX_Vector a, HVX_Vector b, HVX_Vector za, HVX_Vector zb, const ek_channels32 *c,
                                const range *o)
{
    const HVX_VectorPair w = Q6_Ww_vmpy_VhVh(Q6_Vh_vsub_VhVh(a, za), Q6_Vh_vsub_VhVh(b, zb));
    return clamp_halves(ek_scale32(Q6_V_hi_W(w), c), ek_scale32(Q6_V_lo_W(w), c), o);
}

void ek_hvx_mul_s8(int8_t *out, const int8_t *a, const int8_t *b, size_t b_step, size_t count, const ek_mul_s8 *p)
{
    const operands x = operands_of(a, b, b_step, count);
    const range o = range_of(p->zero_point, p->qmin, p->qmax);
    const ek_channels32 c = ek_channels_from(Q6_V_vzero(), Q6_V_vsplat_R(p->multiplier), Q6_V_vsplat_R(p->shift));
    const HVX_Vector za = ek_splat_half(p->a_zero), zb = ek_splat_half(p->b_zero);
    for (size_t at = 0; at < count; at += EK_LINE) {
        const HVX_VectorPair va = Q6_Wh_vsxt_Vb(ek_load_at(x.a + at, count - at));
        const HVX_VectorPair vb = Q6_Wh_vsxt_Vb(load_b(&x, at, count - at));
        const HVX_Vector even = mul_halves(Q6_V_lo_W(va), Q6_V_lo_W(vb), za, zb, &c, &o);
        const HVX_Vector odd = mul_halves(Q6_V_hi_W(va), Q6_V_hi_W(vb), za, zb, &c, &o);
        ek_store_at(out + at, Q6_Vb_vshuffe_VbVb(odd, even), count - at);
    }
}

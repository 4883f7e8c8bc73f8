/* add_s8 and mul_s8, 16 at a time; what is left over goes through a block on the stack. */
#include "kernels.h"
#include "requant.h"

enum { BLOCK = 16 };

EK_INLINE void widen(int32x4_t v[4], int8x16_t x)
{
    const int16x8_t lo = vmovl_s8(vget_low_s8(x)), hi = vmovl_s8(vget_high_s8(x));
    v[0] = vmovl_s16(vget_low_s16(lo));
    v[1] = vmovl_s16(vget_high_s16(lo));
    v[2] = vmovl_s16(vget_low_s16(hi));
    v[3] = vmovl_s16(vget_high_s16(hi));
}

typedef struct adder {
    int32x4_t a, b, bias, shift;
    ek_output output;
} adder;

EK_INLINE int8x16_t add16(int8x16_t a, int8x16_t b, const adder *p)
{
    int32x4_t x[4], y[4];
    widen(x, a);
    widen(y, b);
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) x[i] = vshlq_s32(vmlaq_s32(vmlaq_s32(p->bias, x[i], p->a), y[i], p->b), p->shift);
    return ek_narrow16(x[0], x[1], x[2], x[3], &p->output);
}

typedef struct multiplier {
    int16x8_t a_zero, b_zero;
    ek_channels4 scale;
    bool left;
    ek_output output;
} multiplier;

EK_INLINE void mul8(int32x4_t v[2], int8x8_t a, int8x8_t b, const multiplier *p)
{
    const int16x8_t x = vsubq_s16(vmovl_s8(a), p->a_zero), y = vsubq_s16(vmovl_s8(b), p->b_zero);
    v[0] = ek_scale4(vmull_s16(vget_low_s16(x), vget_low_s16(y)), &p->scale, p->left);
    v[1] = ek_scale4(vmull_s16(vget_high_s16(x), vget_high_s16(y)), &p->scale, p->left);
}

EK_INLINE int8x16_t mul16(int8x16_t a, int8x16_t b, const multiplier *p)
{
    int32x4_t v[4];
    mul8(v, vget_low_s8(a), vget_low_s8(b), p);
    mul8(v + 2, vget_high_s8(a), vget_high_s8(b), p);
    return ek_narrow16(v[0], v[1], v[2], v[3], &p->output);
}

/* The first `count` < BLOCK of p, in a vector. */
static int8x16_t load_part(const int8_t *p, size_t count)
{
    int8_t v[BLOCK] = { 0 };
    memcpy(v, p, count);
    return vld1q_s8(v);
}

/* b[0] is read before out, which may be b, is written. */
#define BINARY(one, params)                                                                   \
    const int8x16_t constant = vdupq_n_s8(b_step || !count ? 0 : b[0]);                       \
    for (; count >= BLOCK; count -= BLOCK, out += BLOCK, a += BLOCK, b += b_step ? BLOCK : 0) \
        vst1q_s8(out, one(vld1q_s8(a), b_step ? vld1q_s8(b) : constant, params));             \
    if (count) {                                                                              \
        const int8x16_t y = b_step ? load_part(b, count) : constant;                          \
        ek_store_part16(out, one(load_part(a, count), y, params), count);                     \
    }

void ek_neon_add_s8(int8_t *out, const int8_t *a, const int8_t *b, size_t b_step, size_t count, const ek_add_s8 *p)
{
    const adder add = { vdupq_n_s32(p->a_multiplier), vdupq_n_s32(p->b_multiplier), vdupq_n_s32(p->bias),
                        vdupq_n_s32(-p->shift), ek_output_from(0, p->qmin, p->qmax) };
    BINARY(add16, &add)
}

void ek_neon_mul_s8(int8_t *out, const int8_t *a, const int8_t *b, size_t b_step, size_t count, const ek_mul_s8 *p)
{
    const multiplier mul = { vdupq_n_s16((int16_t)p->a_zero), vdupq_n_s16((int16_t)p->b_zero),
                             ek_channels_from(vdupq_n_s32(p->multiplier), vdupq_n_s32(p->shift)), p->shift > 0,
                             ek_output_from(p->zero_point, p->qmin, p->qmax) };
    BINARY(mul16, &mul)
}

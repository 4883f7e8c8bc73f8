/* ek_requantize of fixed_point.h on vectors, bit for bit: vqrdmulh is (2am + 2^31) >> 32 and vrshl by a
 * negative count rounds half up, both without overflow on the way. Shared with ARMv7. */
#ifndef EK_NEON_REQUANT_H
#define EK_NEON_REQUANT_H

#include <arm_neon.h>
#include <stdbool.h>
#include <string.h>

#include "edgekit/kernels.h"

#define EK_INLINE static inline __attribute__((always_inline))

typedef struct ek_output {
    int16x8_t zero_point;
    int8x16_t qmin, qmax;
} ek_output;

/* What is loaded from memory after this was not loaded before: constants that a block of accumulators
 * needs only at its end would otherwise take their registers, or be spilled around it. */
#define EK_FENCE() __asm__ volatile("" ::: "memory")

/* Multipliers of 4 channels; left >= 0 >= right. */
typedef struct ek_channels4 {
    int32x4_t m, left, right;
} ek_channels4;

EK_INLINE ek_output ek_output_from(int32_t zero_point, int32_t qmin, int32_t qmax)
{
    return (ek_output){ vdupq_n_s16((int16_t)zero_point), vdupq_n_s8((int8_t)qmin), vdupq_n_s8((int8_t)qmax) };
}

EK_INLINE ek_channels4 ek_channels_from(int32x4_t m, int32x4_t shift)
{
    const int32x4_t zero = vdupq_n_s32(0);
    return (ek_channels4){ m, vmaxq_s32(shift, zero), vminq_s32(shift, zero) };
}

/* Of 16 channels. `left` counts only where there is any; else no shift is positive. */
typedef struct ek_channels16 {
    int32x4_t m[4], left[4], right[4];
    bool any_left;
} ek_channels16;

EK_INLINE bool ek_any_positive(int8x16_t v)
{
#ifdef __aarch64__
    return vmaxvq_s8(v) > 0;
#else
    const uint64x2_t most = vreinterpretq_u64_u8(vcgtq_s8(v, vdupq_n_s8(0)));
    return (vgetq_lane_u64(most, 0) | vgetq_lane_u64(most, 1)) != 0;
#endif
}

EK_INLINE ek_channels16 ek_channels16_load(const ek_requant *q, size_t first)
{
    const int8x16_t bytes = vld1q_s8(q->shift + first);
    const int16x8_t lo = vmovl_s8(vget_low_s8(bytes)), hi = vmovl_s8(vget_high_s8(bytes));
    ek_channels16 c = { .right = { vmovl_s16(vget_low_s16(lo)), vmovl_s16(vget_high_s16(lo)),
                                   vmovl_s16(vget_low_s16(hi)), vmovl_s16(vget_high_s16(hi)) },
                        .any_left = ek_any_positive(bytes) };
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) c.m[i] = vld1q_s32(q->multiplier + first + 4 * i);
    if (c.any_left) {
#pragma GCC unroll 4
        for (int i = 0; i < 4; i++) {
            const ek_channels4 both = ek_channels_from(c.m[i], c.right[i]);
            c.left[i] = both.left;
            c.right[i] = both.right;
        }
    }
    return c;
}

/* The same of the first `count` < 16, reading no others. Out of line: it is long and comes once a product. */
static __attribute__((noinline, unused)) ek_channels16 ek_channels16_part(const ek_requant *q, size_t first,
                                                                          size_t count)
{
    int32_t m[16] = { 0 };
    int8_t shift[16] = { 0 };
    memcpy(m, q->multiplier + first, count * sizeof *m);
    memcpy(shift, q->shift + first, count);
    const ek_requant part = { .multiplier = m, .shift = shift };
    return ek_channels16_load(&part, 0);
}

EK_INLINE int32x4_t ek_scale4(int32x4_t acc, const ek_channels4 *c, bool any_left)
{
    if (any_left) acc = vshlq_s32(acc, c->left);
    return vrshlq_s32(vqrdmulhq_s32(acc, c->m), c->right);
}

/* Zero point and clamp. Saturation on the way does no harm: the zero point is an int8 and the range
 * is within int8. */
EK_INLINE int8x8_t ek_narrow8(int32x4_t r0, int32x4_t r1, const ek_output *o)
{
#ifdef __aarch64__
    const int16x8_t both = vqmovn_high_s32(vqmovn_s32(r0), r1);
#else
    const int16x8_t both = vcombine_s16(vqmovn_s32(r0), vqmovn_s32(r1));
#endif
    const int8x8_t q = vqmovn_s16(vqaddq_s16(both, o->zero_point));
    return vmin_s8(vmax_s8(q, vget_low_s8(o->qmin)), vget_low_s8(o->qmax));
}

EK_INLINE int8x16_t ek_narrow16(int32x4_t r0, int32x4_t r1, int32x4_t r2, int32x4_t r3, const ek_output *o)
{
#ifdef __aarch64__
    const int16x8_t lo = vqaddq_s16(vqmovn_high_s32(vqmovn_s32(r0), r1), o->zero_point);
    const int16x8_t hi = vqaddq_s16(vqmovn_high_s32(vqmovn_s32(r2), r3), o->zero_point);
    const int8x16_t q = vqmovn_high_s16(vqmovn_s16(lo), hi);
#else
    const int16x8_t lo = vqaddq_s16(vcombine_s16(vqmovn_s32(r0), vqmovn_s32(r1)), o->zero_point);
    const int16x8_t hi = vqaddq_s16(vcombine_s16(vqmovn_s32(r2), vqmovn_s32(r3)), o->zero_point);
    const int8x16_t q = vcombine_s8(vqmovn_s16(lo), vqmovn_s16(hi));
#endif
    return vminq_s8(vmaxq_s8(q, o->qmin), o->qmax);
}

/* The first `count` < 8 bytes of v. */
EK_INLINE void ek_store_part8(int8_t *out, int8x8_t v, size_t count)
{
    if (count & 4) {
        const uint32_t word = vget_lane_u32(vreinterpret_u32_s8(v), 0);
        memcpy(out, &word, 4);
        out += 4;
        v = vext_s8(v, v, 4);
    }
    if (count & 2) {
        const uint16_t half = vget_lane_u16(vreinterpret_u16_s8(v), 0);
        memcpy(out, &half, 2);
        out += 2;
        v = vext_s8(v, v, 2);
    }
    if (count & 1) vst1_lane_s8(out, v, 0);
}

/* The first `count` <= 16 bytes of v. */
static __attribute__((noinline, unused)) void ek_store_part16(int8_t *out, int8x16_t v, size_t count)
{
    if (count == 16) {
        vst1q_s8(out, v);
    } else if (count >= 8) {
        vst1_s8(out, vget_low_s8(v));
        ek_store_part8(out + 8, vget_high_s8(v), count - 8);
    } else {
        ek_store_part8(out, vget_low_s8(v), count);
    }
}

/* `count` < 8 bytes, then zeros, without touching others. Out of line: it is long and rare. */
static __attribute__((noinline, unused)) int8x8_t ek_load_part8(const int8_t *p, size_t count)
{
    uint64_t v = 0;
    size_t at = 0;
    if (count & 4) {
        uint32_t word;
        memcpy(&word, p, 4);
        v = word;
        at = 4;
    }
    if (count & 2) {
        uint16_t half;
        memcpy(&half, p + at, 2);
        v |= (uint64_t)half << (8 * at);
        at += 2;
    }
    if (count & 1) v |= (uint64_t)(uint8_t)p[at] << (8 * at);
    return vreinterpret_s8_u64(vcreate_u64(v));
}

/* The last `left` < 8 of the `k` bytes of a row, at p, then zeros, without touching others. */
EK_INLINE int8x8_t ek_load_row_end(const int8_t *p, size_t k, size_t left)
{
    if (k < 8) return ek_load_part8(p, left);
    const uint64x1_t end = vreinterpret_u64_s8(vld1_s8(p + left - 8));
    return vreinterpret_s8_u64(vshl_u64(end, vdup_n_s64(-8 * (int64_t)(8 - left))));
}

#endif

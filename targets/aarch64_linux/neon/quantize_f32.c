/* quantize_f32_s8 and quantize_f32_s16 without a division, which ARMv7's NEON does not have: the product with
 * the rounded reciprocal, corrected twice. The first correction leaves it within one unit in the last place,
 * the second rounds it as the division does (Markstein 1990), as long as nothing overflows or underflows: x is
 * clamped before, and scales are not extreme. ARMv7 takes subnormals for 0, but with such scales the quotient of
 * whatever is below 2^-62 rounds to 0. */
#include <arm_neon.h>
#include <string.h>

#include "kernels.h"
#include "kernels_ref/reference.h"

#define EK_INLINE static inline __attribute__((always_inline))

enum { BLOCK = 16 };

typedef struct quantizer {
    float32x4_t scale, reciprocal, most; /* most: of |x|; beyond all results are the same */
} quantizer;

static bool is_usual(float scale)
{
    return scale >= 0x1p-60f && scale <= 0x1p60f;
}

static quantizer quantizer_from(float scale, float most)
{
    return (quantizer){ vdupq_n_f32(scale), vdupq_n_f32(1.0f / scale), vdupq_n_f32(most * scale) };
}

/* NaN becomes 0 in the conversion. */
EK_INLINE int32x4_t whole4(const float *p, const quantizer *z)
{
    const float32x4_t x = vmaxq_f32(vminq_f32(vld1q_f32(p), z->most), vnegq_f32(z->most));
    float32x4_t v = vmulq_f32(x, z->reciprocal);
    v = vfmaq_f32(v, vfmsq_f32(x, v, z->scale), z->reciprocal);
    v = vfmaq_f32(v, vfmsq_f32(x, v, z->scale), z->reciprocal);
#ifdef __aarch64__
    return vcvtnq_s32_f32(v);
#else
    const float32x4_t magic = vdupq_n_f32(12582912.0f); /* at 1.5 * 2^23 there are no fraction bits */
    return vcvtq_s32_f32(vsubq_f32(vaddq_f32(v, magic), magic));
#endif
}

EK_INLINE int16x8_t whole8(const float *p, const quantizer *z)
{
    return vcombine_s16(vqmovn_s32(whole4(p, z)), vqmovn_s32(whole4(p + 4, z)));
}

EK_INLINE void block_s8(int8_t *q, const float *p, const quantizer *z, int16x8_t zero)
{
    const int16x8_t lo = vaddq_s16(whole8(p, z), zero), hi = vaddq_s16(whole8(p + 8, z), zero);
    vst1q_s8(q, vcombine_s8(vqmovn_s16(lo), vqmovn_s16(hi)));
}

EK_INLINE void block_s16(int16_t *q, const float *p, const quantizer *z)
{
    const int16x8_t least = vdupq_n_s16(-INT16_MAX);
    vst1q_s16(q, vmaxq_s16(whole8(p, z), least));
    vst1q_s16(q + 8, vmaxq_s16(whole8(p + 8, z), least));
}

void ek_neon_quantize_f32_s8(int8_t *q, const float *x, size_t count, float scale, int32_t zero_point)
{
    if (!is_usual(scale)) {
        ek_quantize_f32_s8_ref(q, x, count, scale, zero_point);
        return;
    }
    const quantizer z = quantizer_from(scale, 1024.0f);
    const int16x8_t zero = vdupq_n_s16((int16_t)zero_point);
    for (; count >= BLOCK; count -= BLOCK, x += BLOCK, q += BLOCK) block_s8(q, x, &z, zero);
    if (!count) return;
    float rest[BLOCK] = { 0 };
    int8_t part[BLOCK];
    memcpy(rest, x, count * sizeof *x);
    block_s8(part, rest, &z, zero);
    memcpy(q, part, count);
}

void ek_neon_quantize_f32_s16(int16_t *q, const float *x, size_t count, float scale)
{
    if (!is_usual(scale)) {
        ek_quantize_f32_s16_ref(q, x, count, scale);
        return;
    }
    const quantizer z = quantizer_from(scale, 65536.0f);
    for (; count >= BLOCK; count -= BLOCK, x += BLOCK, q += BLOCK) block_s16(q, x, &z);
    if (!count) return;
    float rest[BLOCK] = { 0 };
    int16_t part[BLOCK];
    memcpy(rest, x, count * sizeof *x);
    block_s16(part, rest, &z);
    memcpy(q, part, count * sizeof *q);
}

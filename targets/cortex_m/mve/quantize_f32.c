/* quantize_f32_s8 and quantize_f32_s16 without a division, which Helium does not have: the product with the
 * rounded reciprocal, corrected twice. The first correction leaves it within one unit in the last place, the
 * second rounds it as the division does (Markstein 1990), as long as nothing overflows or underflows: x is
 * clamped before, and scales are not extreme. */
#include "kernels.h"
#include "kernels_ref/reference.h"
#include "requant.h"

enum { LANES = 4 };

typedef struct quantizer {
    float minus_scale, reciprocal;
    float32x4_t most, least; /* of x; beyond all results are the same */
} quantizer;

static bool is_usual(float scale)
{
    return scale >= 0x1p-60f && scale <= 0x1p60f;
}

static quantizer quantizer_from(float scale, float most)
{
    return (quantizer){ -scale, 1.0f / scale, vdupq_n_f32(most * scale), vdupq_n_f32(-most * scale) };
}

/* NaN is put to 0 first: vminnm and vmaxnm would make a limit of it. */
EK_INLINE int32x4_t whole4(float32x4_t x, const quantizer *z)
{
    x = vpselq_f32(x, vdupq_n_f32(0), vcmpeqq_f32(x, x));
    x = vmaxnmq_f32(vminnmq_f32(x, z->most), z->least);
    float32x4_t v = vmulq_n_f32(x, z->reciprocal);
    v = vfmaq_n_f32(v, vfmaq_n_f32(x, v, z->minus_scale), z->reciprocal);
    v = vfmaq_n_f32(v, vfmaq_n_f32(x, v, z->minus_scale), z->reciprocal);
    return vcvtnq_s32_f32(v);
}

void ek_mve_quantize_f32_s8(int8_t *q, const float *x, size_t count, float scale, int32_t zero_point)
{
    if (!is_usual(scale)) {
        ek_quantize_f32_s8_ref(q, x, count, scale, zero_point);
        return;
    }
    const quantizer z = quantizer_from(scale, 1024.0f);
    const int32x4_t qmin = vdupq_n_s32(INT8_MIN), qmax = vdupq_n_s32(INT8_MAX);
    for (size_t at = 0; at < count; at += LANES) {
        const mve_pred16_t left = vctp32q((uint32_t)(count - at));
        const int32x4_t v = vaddq_n_s32(whole4(vldrwq_z_f32(x + at, left), &z), zero_point);
        vstrbq_p_s32(q + at, vminq_s32(vmaxq_s32(v, qmin), qmax), left);
    }
}

void ek_mve_quantize_f32_s16(int16_t *q, const float *x, size_t count, float scale)
{
    if (!is_usual(scale)) {
        ek_quantize_f32_s16_ref(q, x, count, scale);
        return;
    }
    const quantizer z = quantizer_from(scale, 65536.0f);
    const int32x4_t qmin = vdupq_n_s32(-INT16_MAX), qmax = vdupq_n_s32(INT16_MAX);
    for (size_t at = 0; at < count; at += LANES) {
        const mve_pred16_t left = vctp32q((uint32_t)(count - at));
        const int32x4_t v = whole4(vldrwq_z_f32(x + at, left), &z);
        vstrhq_p_s32(q + at, vminq_s32(vmaxq_s32(v, qmin), qmax), left);
    }
}

#include "kernels_ref/reference.h"

/* Firmware whose operators never quantize has no such kernel in its table (slots.h). */
void ek_quantize_f32_s8(const ek_kernels *kernels, int8_t *q, const float *x, size_t count, float scale,
                        int32_t zero_point)
{
    ek_quantize_f32_s8_fn *const chosen = kernels ? kernels->quantize_f32_s8 : NULL;
    (chosen ? chosen : ek_quantize_f32_s8_ref)(q, x, count, scale, zero_point);
}

void ek_quantize_f32_s16(const ek_kernels *kernels, int16_t *q, const float *x, size_t count, float scale)
{
    ek_quantize_f32_s16_fn *const chosen = kernels ? kernels->quantize_f32_s16 : NULL;
    (chosen ? chosen : ek_quantize_f32_s16_ref)(q, x, count, scale);
}

void ek_dequantize_s8_f32(float *x, const int8_t *q, size_t count, float scale, int32_t zero_point)
{
    for (size_t i = 0; i < count; i++) x[i] = (float)(q[i] - zero_point) * scale;
}

void ek_dequantize_s16_f32(float *x, const int16_t *q, size_t count, float scale)
{
    for (size_t i = 0; i < count; i++) x[i] = (float)q[i] * scale;
}

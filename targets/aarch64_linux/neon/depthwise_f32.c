/* depthwise_f32: 4 channels of 4 pixels at a time, so that each weight is loaded once for 4; channels
 * past the last 4 one by one. */
#include "kernels.h"
#include "requant.h"

EK_INLINE void tile(float *out, size_t out_step, const float *const *taps, size_t at, size_t in_step,
                    const ek_depthwise_f32 *d, size_t channel, const int P)
{
    float32x4_t acc[4];
    const float32x4_t bias = d->bias ? vld1q_f32(d->bias + channel) : vdupq_n_f32(0);
#pragma GCC unroll 4
    for (int p = 0; p < P; p++) acc[p] = bias;
    const float *w = d->weights + channel;
    for (uint32_t t = 0; t < d->taps; t++, w += d->c) {
        const float32x4_t v = vld1q_f32(w);
        const float *const x = taps[t] + at + channel;
#pragma GCC unroll 4
        for (int p = 0; p < P; p++) acc[p] = vfmaq_f32(acc[p], vld1q_f32(x + (size_t)p * in_step), v);
    }
#pragma GCC unroll 4
    for (int p = 0; p < P; p++)
        vst1q_f32(out + (size_t)p * out_step + channel,
                  vminq_f32(vmaxq_f32(acc[p], vdupq_n_f32(d->min)), vdupq_n_f32(d->max)));
}

static void one(float *out, const float *const *taps, size_t at, const ek_depthwise_f32 *d, size_t channel)
{
    float sum = d->bias ? d->bias[channel] : 0.0f;
    for (uint32_t t = 0; t < d->taps; t++) sum += taps[t][at + channel] * d->weights[(size_t)t * d->c + channel];
    out[channel] = sum < d->min ? d->min : sum > d->max ? d->max : sum;
}

void ek_neon_depthwise_f32(float *out, size_t out_step, const float *const *taps, size_t in_step, size_t pixels,
                           const ek_depthwise_f32 *d)
{
    size_t channel = 0;
    for (; channel + 4 <= d->c; channel += 4) {
        size_t p = 0;
        for (; p + 4 <= pixels; p += 4) tile(out + p * out_step, out_step, taps, p * in_step, in_step, d, channel, 4);
        for (; p < pixels; p++) tile(out + p * out_step, out_step, taps, p * in_step, in_step, d, channel, 1);
    }
    for (; channel < d->c; channel++)
        for (size_t p = 0; p < pixels; p++) one(out + p * out_step, taps, p * in_step, d, channel);
}

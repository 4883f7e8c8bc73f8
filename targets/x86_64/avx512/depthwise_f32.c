/* depthwise_f32: 16 channels of P pixels at a time, so that each weight is loaded once for P. */
#include "kernels.h"
#include "requant.h"

enum { LANES = 16 };

EK_INLINE void tile(float *out, size_t out_step, const float *const *taps, size_t at, size_t in_step,
                    const ek_depthwise_f32 *d, size_t channel, __mmask16 exist, const int P)
{
    const __m512 min = _mm512_set1_ps(d->min), max = _mm512_set1_ps(d->max);
    const __m512 bias = d->bias ? _mm512_maskz_loadu_ps(exist, d->bias + channel) : _mm512_setzero_ps();
    __m512 acc[4];
#pragma GCC unroll 4
    for (int p = 0; p < P; p++) acc[p] = bias;
    const float *w = d->weights + channel;
    for (uint32_t t = 0; t < d->taps; t++, w += d->c) {
        const __m512 v = _mm512_maskz_loadu_ps(exist, w);
        const float *const x = taps[t] + at + channel;
#pragma GCC unroll 4
        for (int p = 0; p < P; p++)
            acc[p] = _mm512_fmadd_ps(_mm512_maskz_loadu_ps(exist, x + (size_t)p * in_step), v, acc[p]);
    }
#pragma GCC unroll 4
    for (int p = 0; p < P; p++)
        _mm512_mask_storeu_ps(out + (size_t)p * out_step + channel, exist,
                              _mm512_min_ps(max, _mm512_max_ps(min, acc[p])));
}

void ek_avx512_depthwise_f32(float *out, size_t out_step, const float *const *taps, size_t in_step, size_t pixels,
                             const ek_depthwise_f32 *d)
{
    for (size_t channel = 0; channel < d->c; channel += LANES) {
        const __mmask16 exist = ek_mask16(d->c - channel);
        size_t p = 0;
        for (; p + 4 <= pixels; p += 4)
            tile(out + p * out_step, out_step, taps, p * in_step, in_step, d, channel, exist, 4);
        for (; p < pixels; p++) tile(out + p * out_step, out_step, taps, p * in_step, in_step, d, channel, exist, 1);
    }
}

/* depthwise_f32: 8 channels of P pixels at a time, so that each weight is loaded once for P. */
#include "kernels.h"
#include "partial.h"

enum { LANES = 8 };

EK_INLINE __m256i exist_mask(size_t n)
{
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(n < LANES ? (int)n : LANES), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

/* 8 channels, or those that exist, unless ALL of them do. */
EK_INLINE __m256 load(const float *x, __m256i exist, const bool ALL)
{
    return ALL ? _mm256_loadu_ps(x) : _mm256_maskload_ps(x, exist);
}

EK_INLINE void tile(float *out, size_t out_step, const float *const *taps, size_t at, size_t in_step,
                    const ek_depthwise_f32 *d, size_t channel, const int P, const bool ALL)
{
    const __m256 min = _mm256_set1_ps(d->min), max = _mm256_set1_ps(d->max);
    const __m256i exist = exist_mask(d->c - channel);
    const __m256 bias = d->bias ? load(d->bias + channel, exist, ALL) : _mm256_setzero_ps();
    const size_t left = d->c - channel;
    __m256 acc[4];
#pragma GCC unroll 4
    for (int p = 0; p < P; p++) acc[p] = bias;
    const float *w = d->weights + channel;
    for (uint32_t t = 0; t < d->taps; t++, w += d->c) {
        const __m256 v = load(w, exist, ALL);
        const float *const x = taps[t] + at + channel;
#pragma GCC unroll 4
        for (int p = 0; p < P; p++) acc[p] = _mm256_fmadd_ps(load(x + (size_t)p * in_step, exist, ALL), v, acc[p]);
    }
#pragma GCC unroll 4
    for (int p = 0; p < P; p++)
        ek_store_some_f32(out + (size_t)p * out_step + channel, _mm256_min_ps(max, _mm256_max_ps(min, acc[p])),
                          ALL ? LANES : left);
}

EK_INLINE void channels(float *out, size_t out_step, const float *const *taps, size_t in_step, size_t pixels,
                        const ek_depthwise_f32 *d, size_t channel, const bool ALL)
{
    size_t p = 0;
    for (; p + 4 <= pixels; p += 4) tile(out + p * out_step, out_step, taps, p * in_step, in_step, d, channel, 4, ALL);
    for (; p < pixels; p++) tile(out + p * out_step, out_step, taps, p * in_step, in_step, d, channel, 1, ALL);
}

void ek_avx2_depthwise_f32(float *out, size_t out_step, const float *const *taps, size_t in_step, size_t pixels,
                           const ek_depthwise_f32 *d)
{
    size_t channel = 0;
    for (; channel + LANES <= d->c; channel += LANES) channels(out, out_step, taps, in_step, pixels, d, channel, true);
    if (channel < d->c) channels(out, out_step, taps, in_step, pixels, d, channel, false);
}

#include "clamp_f32.h"
#include "kernels_ref/reference.h"

#define BLOCK 16 /* channels side by side */

/* Channels [first, first + count) of one pixel. */
static inline void depthwise_f32_block(float *out, const float *const *taps, size_t offset, size_t first, size_t count,
                                       const ek_depthwise_f32 *d)
{
    float acc[BLOCK];
    for (size_t j = 0; j < count; j++) acc[j] = d->bias ? d->bias[first + j] : 0.0f;
    for (size_t t = 0; t < d->taps; t++) {
        const float *x = taps[t] + offset + first, *w = d->weights + t * d->c + first;
        for (size_t j = 0; j < count; j++) acc[j] += x[j] * w[j];
    }
    for (size_t j = 0; j < count; j++) out[first + j] = ek_clamp_f32(acc[j], d->min, d->max);
}

void ek_depthwise_f32_ref(float *out, size_t out_step, const float *const *taps, size_t in_step, size_t pixels,
                          const ek_depthwise_f32 *d)
{
    for (size_t p = 0; p < pixels; p++) {
        size_t first = 0;
        for (; first + BLOCK <= d->c; first += BLOCK)
            depthwise_f32_block(out + p * out_step, taps, p * in_step, first, BLOCK, d);
        if (first < d->c) depthwise_f32_block(out + p * out_step, taps, p * in_step, first, d->c - first, d);
    }
}

#include "fixed_point.h"
#include "kernels_ref/reference.h"

#define BLOCK 16 /* channels side by side */

/* Channels [first, first + count) of one pixel; sums wrap, as in gemm_s8. */
static inline void depthwise_s8_block(int8_t *out, const int8_t *const *taps, size_t offset, size_t first, size_t count,
                                      const ek_depthwise_s8 *d)
{
    const ek_requant *r = &d->requant;
    uint32_t acc[BLOCK];
    for (size_t j = 0; j < count; j++) acc[j] = (uint32_t)r->bias[first + j];
    for (size_t t = 0; t < d->taps; t++) {
        const int8_t *x = taps[t] + offset + first, *w = (const int8_t *)d->weights + t * d->c + first;
        for (size_t j = 0; j < count; j++) acc[j] += (uint32_t)(x[j] * w[j]);
    }
    for (size_t j = 0; j < count; j++)
        out[first + j] = ek_requantize((int32_t)acc[j], r->multiplier[first + j], r->shift[first + j], r->zero_point,
                                       r->qmin, r->qmax);
}

void ek_depthwise_s8_ref(int8_t *out, size_t out_step, const int8_t *const *taps, size_t in_step, size_t pixels,
                         const ek_depthwise_s8 *d)
{
    for (size_t p = 0; p < pixels; p++) {
        size_t first = 0;
        for (; first + BLOCK <= d->c; first += BLOCK)
            depthwise_s8_block(out + p * out_step, taps, p * in_step, first, BLOCK, d);
        if (first < d->c) depthwise_s8_block(out + p * out_step, taps, p * in_step, first, d->c - first, d);
    }
}

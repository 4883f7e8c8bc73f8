#include "fixed_point.h"
#include "kernels_ref/reference.h"

enum { BLOCK = 16, CHUNK = 256 }; /* channels side by side; products whose sum fits int32 */

/* Sums of the taps [from, to) for channels [first, first + count) of one pixel. */
static inline void sums(int32_t *sum, const int16_t *const *taps, size_t offset, size_t first, size_t count,
                        size_t from, size_t to, const ek_depthwise_s16 *d)
{
    for (size_t j = 0; j < count; j++) sum[j] = 0;
    for (size_t t = from; t < to; t++) {
        const int16_t *x = taps[t] + offset + first;
        const int8_t *w = (const int8_t *)d->weights + t * d->c + first;
        for (size_t j = 0; j < count; j++) sum[j] += x[j] * w[j];
    }
}

static inline void depthwise_s16_block(int16_t *out, const int16_t *const *taps, size_t offset, size_t first,
                                       size_t count, const ek_depthwise_s16 *d)
{
    const ek_requant16 *r = &d->requant;
    int32_t sum[BLOCK];
    int64_t acc[BLOCK];
    for (size_t j = 0; j < count; j++) acc[j] = r->bias[first + j];
    for (size_t t = 0; t < d->taps; t += CHUNK) {
        const size_t to = d->taps - t < CHUNK ? d->taps : t + CHUNK;
        sums(sum, taps, offset, first, count, t, to, d);
        for (size_t j = 0; j < count; j++) acc[j] += sum[j];
    }
    for (size_t j = 0; j < count; j++)
        out[first + j] = ek_requantize16(acc[j], r->multiplier[first + j], r->shift[first + j], r->qmin, r->qmax);
}

void ek_depthwise_s16_ref(int16_t *out, size_t out_step, const int16_t *const *taps, size_t in_step, size_t pixels,
                          const ek_depthwise_s16 *d)
{
    for (size_t p = 0; p < pixels; p++) {
        size_t first = 0;
        for (; first + BLOCK <= d->c; first += BLOCK)
            depthwise_s16_block(out + p * out_step, taps, p * in_step, first, BLOCK, d);
        if (first < d->c) depthwise_s16_block(out + p * out_step, taps, p * in_step, first, d->c - first, d);
    }
}

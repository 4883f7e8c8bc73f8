#include "kernels.h"
#include "requant.h"

enum { SIDE = 4 }; /* channels side by side */

static void group(int8_t *out, const int8_t *const *taps, size_t offset, size_t j, const ek_depthwise_s8 *d)
{
    const ek_requant *r = &d->requant;
    const ek_m0_taps t = { offset + j, d->c, taps + d->taps };
    int32_t sums[SIDE] = { r->bias[j], r->bias[j + 1], r->bias[j + 2], r->bias[j + 3] };
    ek_m0_taps_4(taps, (const int8_t *)d->weights + j, &t, sums);
    for (size_t i = 0; i < SIDE; i++) out[j + i] = ek_m0_requantize(sums[i], r, j + i);
}

void ek_m0_depthwise_s8(int8_t *out, size_t out_step, const int8_t *const *taps, size_t in_step, size_t pixels,
                        const ek_depthwise_s8 *d)
{
    const ek_requant *r = &d->requant;
    for (size_t p = 0; p < pixels; p++, out += out_step) {
        size_t j = 0;
        for (; j + SIDE <= d->c; j += SIDE) group(out, taps, p * in_step, j, d);
        for (; j < d->c; j++) {
            const int8_t *w = (const int8_t *)d->weights + j;
            uint32_t sum = (uint32_t)r->bias[j];
            for (size_t t = 0; t < d->taps; t++, w += d->c) sum += (uint32_t)(taps[t][p * in_step + j] * *w);
            out[j] = ek_m0_requantize((int32_t)sum, r, j);
        }
    }
}

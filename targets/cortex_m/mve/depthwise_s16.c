/* depthwise_s16, 8 channels at a time: products of even and of odd channels, widened. */
#include "fixed_point.h"
#include "kernels.h"
#include "requant.h"

enum { SLOTS = 8, CHUNK = 256 }; /* products whose sum fits int32 */

/* Sums of the taps [from, to) for up to 8 channels from `first` on, of one pixel. */
static void sums(int32_t sum[SLOTS], const int16_t *const *taps, size_t offset, size_t first, size_t from, size_t to,
                 const ek_depthwise_s16 *d)
{
    const mve_pred16_t some = vctp16q(d->c - first);
    const int8_t *w = (const int8_t *)d->weights + from * d->c + first;
    int32x4x2_t acc = { { vdupq_n_s32(0), vdupq_n_s32(0) } };
    for (size_t t = from; t < to; t++, w += d->c) {
        const int16x8_t x = vldrhq_z_s16(taps[t] + offset + first, some), v = vldrbq_z_s16(w, some);
        acc.val[0] = vaddq_s32(acc.val[0], vmullbq_int_s16(x, v));
        acc.val[1] = vaddq_s32(acc.val[1], vmulltq_int_s16(x, v));
    }
    vst2q_s32(sum, acc);
}

static void block(int16_t *out, const int16_t *const *taps, size_t offset, size_t first, const ek_depthwise_s16 *d)
{
    const ek_requant16 *q = &d->requant;
    const size_t count = d->c - first < SLOTS ? d->c - first : SLOTS;
    int64_t total[SLOTS];
    for (size_t j = 0; j < count; j++) total[j] = q->bias[first + j];
    for (size_t t = 0; t < d->taps; t += CHUNK) {
        int32_t sum[SLOTS];
        sums(sum, taps, offset, first, t, d->taps - t < CHUNK ? d->taps : t + CHUNK, d);
        for (size_t j = 0; j < count; j++) total[j] += sum[j];
    }
    for (size_t j = 0; j < count; j++)
        out[first + j] = ek_requantize16(total[j], q->multiplier[first + j], q->shift[first + j], q->qmin, q->qmax);
}

void ek_mve_depthwise_s16(int16_t *out, size_t out_step, const int16_t *const *taps, size_t in_step, size_t pixels,
                          const ek_depthwise_s16 *d)
{
    for (size_t p = 0; p < pixels; p++)
        for (size_t j = 0; j < d->c; j += SLOTS) block(out + p * out_step, taps, p * in_step, j, d);
}

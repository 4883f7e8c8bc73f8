/* depthwise_s16, 8 channels at a time; the last 8 of more overlap those before. Weights are as in the file. */
#include "kernels.h"
#include "kernels_ref/reference.h"
#include "requant16.h"

enum { SLOTS = 8, CHUNK = 256 }; /* products whose sum fits int32 */

typedef struct job {
    const int8_t *weights;
    int64x2_t bias[4];
    ek_ratios4 ratios[2];
    int16x4_t qmin, qmax;
    uint32_t taps, c, first;
} job;

static job job_at(const ek_depthwise_s16 *d, uint32_t first)
{
    const ek_requant16 *q = &d->requant;
    const int16x8_t shift = vreinterpretq_s16_u16(vmovl_u8(vld1_u8(q->shift + first)));
    job j = { .weights = (const int8_t *)d->weights + first,
              .ratios = { ek_ratios_from(vld1q_s32(q->multiplier + first), vmovl_s16(vget_low_s16(shift))),
                          ek_ratios_from(vld1q_s32(q->multiplier + first + 4), vmovl_s16(vget_high_s16(shift))) },
              .qmin = vdup_n_s16((int16_t)q->qmin),
              .qmax = vdup_n_s16((int16_t)q->qmax),
              .taps = d->taps,
              .c = d->c,
              .first = first };
    for (uint32_t i = 0; i < 4; i++) j.bias[i] = vmovl_s32(vld1_s32(q->bias + first + 2 * i));
    return j;
}

static void pixel(int16_t *out, const int16_t *const *taps, size_t offset, const job *j)
{
    int64x2_t total[4] = { j->bias[0], j->bias[1], j->bias[2], j->bias[3] };
    const int8_t *w = j->weights;
    for (uint32_t from = 0; from < j->taps; from += CHUNK) {
        const uint32_t to = j->taps - from < CHUNK ? j->taps : from + CHUNK;
        int32x4_t lo = vdupq_n_s32(0), hi = lo;
        for (uint32_t t = from; t < to; t++, w += j->c) {
            const int16x8_t x = vld1q_s16(taps[t] + offset), v = vmovl_s8(vld1_s8(w));
            lo = vmlal_s16(lo, vget_low_s16(x), vget_low_s16(v));
            hi = vmlal_s16(hi, vget_high_s16(x), vget_high_s16(v));
        }
        total[0] = vaddw_s32(total[0], vget_low_s32(lo));
        total[1] = vaddw_s32(total[1], vget_high_s32(lo));
        total[2] = vaddw_s32(total[2], vget_low_s32(hi));
        total[3] = vaddw_s32(total[3], vget_high_s32(hi));
    }
    vst1_s16(out, ek_requantize4(total[0], total[1], &j->ratios[0], j->qmin, j->qmax));
    vst1_s16(out + 4, ek_requantize4(total[2], total[3], &j->ratios[1], j->qmin, j->qmax));
}

void ek_neon_depthwise_s16(int16_t *out, size_t out_step, const int16_t *const *taps, size_t in_step, size_t pixels,
                           const ek_depthwise_s16 *d)
{
    if (d->c < SLOTS) {
        ek_depthwise_s16_ref(out, out_step, taps, in_step, pixels, d);
        return;
    }
    for (uint32_t j = 0; j < d->c; j += SLOTS) {
        const job block = job_at(d, j + SLOTS <= d->c ? j : d->c - SLOTS);
        for (size_t p = 0; p < pixels; p++)
            pixel(out + p * out_step + block.first, taps, p * in_step + block.first, &block);
    }
}

/* depthwise_s16, 8 channels at a time: products of even and of odd channels, widened. Two pixels share their
 * weights where all fits int32. */
#include "fixed_point.h"
#include "kernels.h"
#include "requant.h"

enum {
    SLOTS = 8,
    CHUNK = 256, /* products whose sum fits int32 */
    LEAST_SHIFT = 25
};

/* Of 8 channels: the even ones, then the odd ones. */
typedef struct lanes {
    int32x4x2_t bias, multiplier, shift;
    int32x4_t qmin, qmax;
} lanes;

/* With the multiplier in the top bits of a word, only the high word of the product matters to the shift. */
static lanes lanes_from(const ek_requant16 *q, size_t first)
{
    lanes l = { vld2q_s32(q->bias + first), vld2q_s32(q->multiplier + first), .qmin = vdupq_n_s32(q->qmin),
                .qmax = vdupq_n_s32(q->qmax) };
    const uint16x8_t shift = vldrbq_u16(q->shift + first);
    l.shift.val[0] = vsubq_s32(vdupq_n_s32(24), vreinterpretq_s32_u32(vmovlbq_u16(shift)));
    l.shift.val[1] = vsubq_s32(vdupq_n_s32(24), vreinterpretq_s32_u32(vmovltq_u16(shift)));
    for (int odd = 0; odd < 2; odd++) l.multiplier.val[odd] = vshlq_n_s32(l.multiplier.val[odd], 8);
    return l;
}

/* Whether biases and sums of the taps fit int32, and the shifts are what scale() takes. */
static bool is_fast(const ek_depthwise_s16 *d, size_t first)
{
    const ek_requant16 *q = &d->requant;
    if (d->taps > CHUNK) return false;
    const uint32_t most = INT32_MAX - (d->taps << 22);
    const uint8x16_t shift = vldrbq_z_u8(q->shift + first, vctp8q(SLOTS));
    const uint32x4_t low = vreinterpretq_u32_s32(vabsq_s32(vld1q_s32(q->bias + first)));
    const uint32x4_t high = vreinterpretq_u32_s32(vabsq_s32(vld1q_s32(q->bias + first + 4)));
    return vminvq_p_u8(LEAST_SHIFT, shift, vctp8q(SLOTS)) == LEAST_SHIFT &&
           vmaxvq_u32(vmaxvq_u32(0, low), high) <= most;
}

EK_INLINE int32x4_t scale(int32x4_t acc, const lanes *l, int odd)
{
    const int32x4_t v = vrshlq_s32(vmulhq_s32(acc, l->multiplier.val[odd]), l->shift.val[odd]);
    return vminq_s32(vmaxq_s32(v, l->qmin), l->qmax);
}

EK_INLINE void store(int16_t *out, const int32x4_t acc[2], const lanes *l)
{
    const int16x8_t even = vreinterpretq_s16_s32(scale(acc[0], l, 0));
    vstrhq_s16(out, vmovntq_s32(even, scale(acc[1], l, 1)));
}

/* The channels [first, first + 8) of all pixels, two at a time. */
static void all_pixels(int16_t *out, size_t out_step, const int16_t *const *taps, size_t in_step, size_t pixels,
                       const ek_depthwise_s16 *d, size_t first)
{
    const lanes l = lanes_from(&d->requant, first);
    const size_t c = d->c;
    for (size_t p = 0, now; p < pixels; p += now) {
        now = pixels - p < 2 ? 1 : 2;
        const size_t at = p * in_step + first, next = (now - 1) * in_step;
        int32x4_t a[2] = { l.bias.val[0], l.bias.val[1] }, b[2] = { a[0], a[1] };
        const int8_t *w = (const int8_t *)d->weights + first;
        for (uint32_t t = 0; t < d->taps; t++, w += c) {
            const int16_t *const x = taps[t] + at;
            const int16x8_t v = vldrbq_s16(w), x0 = vldrhq_s16(x), x1 = vldrhq_s16(x + next);
            a[0] = vaddq_s32(a[0], vmullbq_int_s16(x0, v));
            a[1] = vaddq_s32(a[1], vmulltq_int_s16(x0, v));
            b[0] = vaddq_s32(b[0], vmullbq_int_s16(x1, v));
            b[1] = vaddq_s32(b[1], vmulltq_int_s16(x1, v));
        }
        store(out + p * out_step + first, a, &l);
        store(out + (p + now - 1) * out_step + first, b, &l);
    }
}

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
    for (size_t first = 0; first < d->c; first += SLOTS) {
        const bool whole = d->c >= SLOTS;
        const size_t j = d->c - first >= SLOTS || !whole ? first : d->c - SLOTS; /* some may be done twice */
        if (whole && is_fast(d, j))
            all_pixels(out, out_step, taps, in_step, pixels, d, j);
        else
            for (size_t p = 0; p < pixels; p++) block(out + p * out_step, taps, p * in_step, j, d);
    }
}

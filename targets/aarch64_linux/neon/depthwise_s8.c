/* depthwise_s8 on widening multiplies: products of two taps fit an int16 as long as no weight is -128.
 * Weights are [taps][16]. */
#include "kernels.h"
#include "depthwise_s8.h"

static size_t weights_bytes(uint32_t taps)
{
    return (size_t)taps * SLOTS;
}

static void pack_slot(int8_t *to, size_t slot, const int8_t *from, size_t c, uint32_t taps)
{
    for (uint32_t t = 0; t < taps; t++) to[t * SLOTS + slot] = from[t * c];
}

size_t ek_neon_packed_depthwise_s8(uint32_t taps, uint32_t c)
{
    return packed_bytes(taps, c);
}

void ek_neon_pack_depthwise_s8(void *packed, const ek_depthwise_s8 *d)
{
    pack(packed, d);
}

EK_INLINE void add_words(int32x4_t acc[4], int16x8_t lo, int16x8_t hi)
{
    acc[0] = vaddw_s16(acc[0], vget_low_s16(lo));
    acc[1] = vaddw_s16(acc[1], vget_high_s16(lo));
    acc[2] = vaddw_s16(acc[2], vget_low_s16(hi));
    acc[3] = vaddw_s16(acc[3], vget_high_s16(hi));
}

EK_INLINE void add_tap(int32x4_t acc[4], int8x16_t x, int8x16_t w)
{
    add_words(acc, vmull_s8(vget_low_s8(x), vget_low_s8(w)), vmull_s8(vget_high_s8(x), vget_high_s8(w)));
}

EK_INLINE void add_two_taps(int32x4_t acc[4], int8x16_t x, int8x16_t w, int8x16_t y, int8x16_t v)
{
    const int16x8_t lo = vmull_s8(vget_low_s8(x), vget_low_s8(w)), hi = vmull_s8(vget_high_s8(x), vget_high_s8(w));
    add_words(acc, vmlal_s8(lo, vget_low_s8(y), vget_low_s8(v)), vmlal_s8(hi, vget_high_s8(y), vget_high_s8(v)));
}

/* N > 0: that many taps, whose weights stay in registers. */
EK_INLINE void pixels_of(const job *j, const mode m, const uint32_t N, const bool extreme)
{
    const slots *const b = j->block;
    const uint32_t taps = N ? N : j->tap_count;
    const size_t in_step = m == PAIR ? j->in_step / 2 : 0, out_step = m == PAIR ? j->out_step / 2 : 0;
    int8x16_t kept[9];
    const int8_t *tap[9];
#pragma GCC unroll 9
    for (uint32_t t = 0; t < N; t++) {
        kept[t] = vld1q_s8(b->weights + t * SLOTS);
        tap[t] = j->taps[t] + j->first;
    }
#define X(t) load_tile((N ? tap[t] : j->taps[t] + j->first) + at, in_step, j->c, m)
#define W(t) (N ? kept[t] : vld1q_s8(b->weights + (t) * SLOTS))
    int8_t *out = j->out;
    for (size_t p = 0, at = 0; p < j->pixels; p++, at += j->in_step, out += j->out_step) {
        int32x4_t acc[4];
#pragma GCC unroll 4
        for (int i = 0; i < 4; i++) acc[i] = vld1q_s32(b->bias + 4 * i);
        const uint32_t pairs = extreme ? 0 : taps / 2 * 2;
#pragma GCC unroll 4
        for (uint32_t t = 0; t < pairs; t += 2) add_two_taps(acc, X(t), W(t), X(t + 1), W(t + 1));
        for (uint32_t t = pairs; t < taps; t++) add_tap(acc, X(t), W(t));
        store_tile(out, acc, b, j, out_step, m);
    }
#undef X
#undef W
}

EK_INLINE void all_pixels(const job *j, const mode m)
{
    if (j->extreme)
        pixels_of(j, m, 0, true);
    else if (j->tap_count == 9 && m != PART)
        pixels_of(j, m, 9, false);
    else
        pixels_of(j, m, 0, false);
}

static uint8_t stride_of(const int8_t *const *taps, uint32_t tap_count, size_t in_step)
{
    (void)taps, (void)tap_count, (void)in_step;
    return 0;
}

void ek_neon_depthwise_s8(int8_t *out, size_t out_step, const int8_t *const *taps, size_t in_step, size_t pixels,
                          const ek_depthwise_s8 *d)
{
    run(out, out_step, taps, in_step, pixels, d);
}

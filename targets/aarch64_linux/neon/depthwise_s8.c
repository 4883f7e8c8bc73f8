/* depthwise_s8 on widening multiplies: products of two taps fit an int16 as long as no weight is -128.
 * Weights are [taps][16]. 8 channels put two pixels side by side. */
#include "kernels.h"

enum { SLOTS = 16 };
#include "depthwise_pack.h"

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

/* DENSE: two pixels of 8 channels that are neighbours. */
typedef enum mode { WIDE, PAIR, DENSE, PART } mode;

/* One block of channels of all pixels; taps and out point at its first channel. */
typedef struct job {
    const slots *block;
    const int8_t *const *taps;
    int8_t *out;
    size_t out_step, in_step, pixels, first, c;
    uint32_t tap_count;
    bool any_left, extreme;
    ek_output output;
} job;

EK_INLINE int8x16_t load_part(const int8_t *x, size_t c)
{
    if (c >= 8) return vcombine_s8(vld1_s8(x), ek_load_part8(x + 8, c - 8));
    return vcombine_s8(ek_load_part8(x, c), vdup_n_s8(0));
}

/* `step`: to the second pixel of a pair, 0 when there is none. */
EK_INLINE int8x16_t load_tile(const int8_t *x, size_t step, size_t c, const mode m)
{
    if (m == WIDE || m == DENSE) return vld1q_s8(x);
    if (m == PAIR) return vcombine_s8(vld1_s8(x), vld1_s8(x + step));
    return load_part(x, c);
}

/* What every tile needs, in registers: a store to the output might change it in memory, for all that
 * compilers know. */
typedef struct ending {
    int32x4_t bias[4], m[4], right[4];
    const int32_t *left; /* NULL: no channel shifts left */
    ek_output output;
} ending;

EK_INLINE ending ending_of(const job *j)
{
    const slots *b = j->block;
    ending e = { .left = j->any_left ? b->left : NULL, .output = j->output };
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) {
        e.bias[i] = vld1q_s32(b->bias + 4 * i);
        e.m[i] = vld1q_s32(b->m + 4 * i);
        e.right[i] = vld1q_s32(b->right + 4 * i);
    }
    return e;
}

EK_INLINE void store_tile(int8_t *out, int32x4_t acc[4], const ending *e, const job *j, size_t step, const mode m)
{
    if (e->left) {
#pragma GCC unroll 4
        for (int i = 0; i < 4; i++) acc[i] = vshlq_s32(acc[i], vld1q_s32(e->left + 4 * i));
    }
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) acc[i] = vrshlq_s32(vqrdmulhq_s32(acc[i], e->m[i]), e->right[i]);
    const int8x16_t q = ek_narrow16(acc[0], acc[1], acc[2], acc[3], &e->output);
    if (m == WIDE || m == DENSE) {
        vst1q_s8(out, q);
    } else if (m == PAIR) {
        vst1_s8(out, vget_low_s8(q));
        if (step) vst1_s8(out + step, vget_high_s8(q));
    } else {
        ek_store_part16(out, q, j->c);
    }
}

EK_INLINE void add_words(int32x4_t acc[4], int16x8_t lo, int16x8_t hi)
{
    acc[0] = vaddw_s16(acc[0], vget_low_s16(lo));
    acc[2] = vaddw_s16(acc[2], vget_low_s16(hi));
#ifdef __aarch64__
    acc[1] = vaddw_high_s16(acc[1], lo);
    acc[3] = vaddw_high_s16(acc[3], hi);
#else
    acc[1] = vaddw_s16(acc[1], vget_high_s16(lo));
    acc[3] = vaddw_s16(acc[3], vget_high_s16(hi));
#endif
}

EK_INLINE int16x8_t multiply_low(int8x16_t x, int8x16_t w)
{
    return vmull_s8(vget_low_s8(x), vget_low_s8(w));
}
EK_INLINE int16x8_t multiply_high(int8x16_t x, int8x16_t w)
{
#ifdef __aarch64__
    return vmull_high_s8(x, w);
#else
    return vmull_s8(vget_high_s8(x), vget_high_s8(w));
#endif
}
EK_INLINE int16x8_t add_low(int16x8_t acc, int8x16_t x, int8x16_t w)
{
    return vmlal_s8(acc, vget_low_s8(x), vget_low_s8(w));
}
EK_INLINE int16x8_t add_high(int16x8_t acc, int8x16_t x, int8x16_t w)
{
#ifdef __aarch64__
    return vmlal_high_s8(acc, x, w);
#else
    return vmlal_s8(acc, vget_high_s8(x), vget_high_s8(w));
#endif
}

EK_INLINE void add_tap(int32x4_t acc[4], int8x16_t x, int8x16_t w)
{
    add_words(acc, multiply_low(x, w), multiply_high(x, w));
}

EK_INLINE void add_two_taps(int32x4_t acc[4], int8x16_t x, int8x16_t w, int8x16_t y, int8x16_t v)
{
    add_words(acc, add_low(multiply_low(x, w), y, v), add_high(multiply_high(x, w), y, v));
}

/* N > 0: that many taps, whose weights stay in registers. */
EK_INLINE void pixels_of(const job *j, const mode m, const uint32_t N, const bool extreme)
{
    const ending e = ending_of(j);
    const int8_t *const weights = j->block->weights;
    const uint32_t taps = N ? N : j->tap_count;
    const size_t in_pair = m == PAIR ? j->in_step / 2 : 0, out_pair = m == PAIR ? j->out_step / 2 : 0;
    const size_t in_step = j->in_step, out_step = j->out_step, pixels = j->pixels;
    int8x16_t kept[9];
    const int8_t *tap[9];
#pragma GCC unroll 9
    for (uint32_t t = 0; t < N; t++) {
        kept[t] = vld1q_s8(weights + t * SLOTS);
        tap[t] = j->taps[t] + j->first;
    }
#define X(t) load_tile((N ? tap[t] : j->taps[t] + j->first) + at, in_pair, j->c, m)
#define W(t) (N ? kept[t] : vld1q_s8(weights + (t) * SLOTS))
    int8_t *out = j->out;
    for (size_t p = 0, at = 0; p < pixels; p++, at += in_step, out += out_step) {
        int32x4_t acc[4];
#pragma GCC unroll 4
        for (int i = 0; i < 4; i++) acc[i] = e.bias[i];
        const uint32_t pairs = extreme ? 0 : taps / 2 * 2;
#pragma GCC unroll 4
        for (uint32_t t = 0; t < pairs; t += 2) add_two_taps(acc, X(t), W(t), X(t + 1), W(t + 1));
        for (uint32_t t = pairs; t < taps; t++) add_tap(acc, X(t), W(t));
        store_tile(out, acc, &e, j, out_pair, m);
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

static void run_wide(const job *j)
{
    all_pixels(j, WIDE);
}
static void run_part(const job *j)
{
    all_pixels(j, PART);
}

/* Pixels two by two; an odd last one alone. */
static void run_pairs(job *j)
{
    const size_t odd = j->pixels % 2, at = j->pixels - odd;
    const bool dense = j->in_step == 8 && j->out_step == 8;
    const size_t in_step = j->in_step, out_step = j->out_step;
    j->pixels = at / 2;
    j->in_step *= 2;
    j->out_step *= 2;
    if (dense)
        all_pixels(j, DENSE);
    else
        all_pixels(j, PAIR);
    if (!odd) return;
    j->first = at * in_step;
    j->out += at * out_step;
    j->pixels = 1;
    j->in_step = j->out_step = 0;
    all_pixels(j, PAIR);
}

void ek_neon_depthwise_s8(int8_t *out, size_t out_step, const int8_t *const *taps, size_t in_step, size_t pixels,
                          const ek_depthwise_s8 *d)
{
    const header *h = d->weights;
    const uint8_t *block = (const uint8_t *)d->weights + HEADER;
    const ek_requant *q = &d->requant;
    job j = { .taps = taps,
              .out_step = out_step,
              .in_step = in_step,
              .pixels = pixels,
              .c = d->c,
              .tap_count = d->taps,
              .any_left = h->any_left,
              .extreme = h->extreme,
              .output = ek_output_from(q->zero_point, q->qmin, q->qmax) };
    const size_t blocks = block_count(d->c), bytes = sizeof(slots) + weights_bytes(d->taps);
    if (d->c == 8) {
        j.block = (const slots *)(const void *)block;
        j.out = out;
        run_pairs(&j);
        return;
    }
    for (size_t i = 0; i < blocks; i++, block += bytes) {
        j.block = (const slots *)(const void *)block;
        j.first = block_first(i, d->c);
        j.out = out + j.first;
        if (d->c >= SLOTS)
            run_wide(&j);
        else
            run_part(&j);
    }
}

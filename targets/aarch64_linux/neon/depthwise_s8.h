/* What the int8 depthwise kernels share: blocks of 16 slots. A slot is a channel; 8 channels put two
 * pixels side by side. The last block of more than 16 channels overlaps the one before. A file that
 * includes this defines `weights_bytes`, `pack_slot`, `all_pixels` and `stride_of`.
 *
 * Packed: a header, then of each block the requantization of its slots and its weights. */
#ifndef EK_NEON_DEPTHWISE_S8_H
#define EK_NEON_DEPTHWISE_S8_H

#include "requant.h"

enum { SLOTS = 16, HEADER = 16 };

typedef struct header {
    uint8_t any_left, extreme; /* extreme: a weight is -128 */
} header;

typedef struct slots {
    int32_t bias[SLOTS], m[SLOTS], left[SLOTS], right[SLOTS];
    int8_t weights[];
} slots;

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
    uint8_t window_stride;
    ek_output output;
} job;

static size_t weights_bytes(uint32_t taps); /* of a block */

/* Puts the weights of one slot, c apart from tap to tap, into a block. */
static void pack_slot(int8_t *to, size_t slot, const int8_t *from, size_t c, uint32_t taps);

static void all_pixels(const job *j, const mode m);

/* What a kernel likes to know of the taps once; 0 for nothing. */
static uint8_t stride_of(const int8_t *const *taps, uint32_t tap_count, size_t in_step);

static size_t block_count(uint32_t c)
{
    return ((size_t)c + SLOTS - 1) / SLOTS;
}

static size_t block_first(size_t i, uint32_t c)
{
    return c > SLOTS && i + 1 == block_count(c) ? c - SLOTS : i * SLOTS;
}

static size_t packed_bytes(uint32_t taps, uint32_t c)
{
    return HEADER + block_count(c) * (sizeof(slots) + weights_bytes(taps));
}

/* The channel of a slot, or -1. */
static int32_t channel_of(size_t slot, size_t first, uint32_t c)
{
    return c == 8 ? (int32_t)(slot % 8) : first + slot < c ? (int32_t)(first + slot) : -1;
}

static void pack_requant(slots *to, header *h, const ek_requant *q, size_t first, uint32_t c)
{
    memset(to, 0, sizeof *to);
    for (size_t s = 0; s < SLOTS; s++) {
        const int32_t from = channel_of(s, first, c);
        if (from < 0) continue;
        const int32_t shift = q->shift[from];
        to->bias[s] = q->bias[from];
        to->m[s] = q->multiplier[from];
        to->left[s] = shift > 0 ? shift : 0;
        to->right[s] = shift < 0 ? shift : 0;
        if (shift > 0) h->any_left = 1;
    }
}

static void pack(void *packed, const ek_depthwise_s8 *d)
{
    const int8_t *weights = d->weights;
    const uint32_t c = d->c;
    header h = { 0, 0 };
    for (size_t i = 0; i < (size_t)d->taps * c; i++)
        if (weights[i] == INT8_MIN) h.extreme = 1;
    uint8_t *to = (uint8_t *)packed + HEADER;
    for (size_t i = 0; i < block_count(c); i++, to += sizeof(slots) + weights_bytes(d->taps)) {
        slots *const block = (slots *)(void *)to;
        const size_t first = block_first(i, c);
        pack_requant(block, &h, &d->requant, first, c);
        memset(block->weights, 0, weights_bytes(d->taps));
        for (size_t s = 0; s < SLOTS; s++) {
            const int32_t from = channel_of(s, first, c);
            if (from >= 0) pack_slot(block->weights, s, weights + from, c, d->taps);
        }
    }
    memcpy(packed, &h, sizeof h);
}

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

EK_INLINE void store_tile(int8_t *out, const int32x4_t acc[4], const slots *b, const job *j, size_t step, const mode m)
{
    int32x4_t r[4];
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) {
        int32x4_t a = acc[i];
        if (j->any_left) a = vshlq_s32(a, vld1q_s32(b->left + 4 * i));
        r[i] = vrshlq_s32(vqrdmulhq_s32(a, vld1q_s32(b->m + 4 * i)), vld1q_s32(b->right + 4 * i));
    }
    const int8x16_t q = ek_narrow16(r[0], r[1], r[2], r[3], &j->output);
    if (m == WIDE || m == DENSE) {
        vst1q_s8(out, q);
    } else if (m == PAIR) {
        vst1_s8(out, vget_low_s8(q));
        if (step) vst1_s8(out + step, vget_high_s8(q));
    } else {
        ek_store_part16(out, q, j->c);
    }
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

EK_INLINE void run(int8_t *out, size_t out_step, const int8_t *const *taps, size_t in_step, size_t pixels,
                   const ek_depthwise_s8 *d)
{
    header h;
    memcpy(&h, d->weights, sizeof h);
    const uint8_t *block = (const uint8_t *)d->weights + HEADER;
    const ek_requant *q = &d->requant;
    const uint8_t window_stride = stride_of(taps, d->taps, in_step);
    for (size_t i = 0; i < block_count(d->c); i++, block += sizeof(slots) + weights_bytes(d->taps)) {
        const size_t first = block_first(i, d->c);
        job j = { .block = (const slots *)(const void *)block,
                  .taps = taps,
                  .out = out + first,
                  .out_step = out_step,
                  .in_step = in_step,
                  .pixels = pixels,
                  .first = first,
                  .c = d->c,
                  .tap_count = d->taps,
                  .any_left = h.any_left,
                  .extreme = h.extreme,
                  .window_stride = window_stride,
                  .output = ek_output_from(q->zero_point, q->qmin, q->qmax) };
        if (d->c >= SLOTS)
            run_wide(&j);
        else if (d->c == 8)
            run_pairs(&j);
        else
            run_part(&j);
    }
}

#endif

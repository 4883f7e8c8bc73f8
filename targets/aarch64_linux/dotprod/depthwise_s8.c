/* depthwise_s8 on SDOT, 8 channels at a time: the bytes of up to 4 taps are interleaved by a table
 * look-up, so that a lane holds the 4 inputs of a channel. Nine taps go in columns of 3, each of which is
 * interleaved once for all the windows it is part of. Weights are [groups][8 channels][4 taps], unused
 * ones 0. */
#include "kernels.h"

enum { SLOTS = 8 };
#include "../neon/depthwise_pack.h"

static size_t weights_bytes(uint32_t taps)
{
    return ((size_t)taps + 3) / 4 * 4 * SLOTS;
}

/* Where tap t goes: group * 4 + place. */
static uint32_t place_of(uint32_t t, uint32_t taps)
{
    return taps == 9 ? t % 3 * 4 + t / 3 : t;
}

static void pack_slot(int8_t *to, size_t slot, const int8_t *from, size_t c, uint32_t taps)
{
    for (uint32_t t = 0; t < taps; t++) {
        const uint32_t place = place_of(t, taps);
        to[place / 4 * 4 * SLOTS + slot * 4 + place % 4] = from[t * c];
    }
}

size_t ek_dotprod_packed_depthwise_s8(uint32_t taps, uint32_t c)
{
    return packed_bytes(taps, c);
}

void ek_dotprod_pack_depthwise_s8(void *packed, const ek_depthwise_s8 *d)
{
    pack(packed, d);
}

/* One block of channels of all pixels; taps and out point at its first channel. */
typedef struct job {
    const slots *block;
    const int8_t *const *taps;
    int8_t *out;
    size_t out_step, in_step, pixels, first;
    uint32_t tap_count, c;
    bool any_left;
    uint8_t stride; /* of windows that share columns, 1 or 2; 0: they share none */
    ek_output output;
} job;

/* Byte 4s + i of the interleaved vectors is byte s of input i. */
typedef struct order {
    uint8x16_t low, high;
} order;

EK_INLINE order order_make(void)
{
    static const uint8_t first[16] = { 0, 16, 32, 48, 1, 17, 33, 49, 2, 18, 34, 50, 3, 19, 35, 51 };
    const uint8x16_t low = vld1q_u8(first);
    return (order){ low, vaddq_u8(low, vdupq_n_u8(4)) };
}

typedef struct eight {
    int8x16_t low, high; /* channels 0 to 3, 4 to 7 */
} eight;

typedef struct sums {
    int32x4_t low, high;
} sums;

/* The bytes at a, b and c; the fourth is that of no input: 48 and more look up 0 in three vectors. In
 * assembler, because compilers copy what they loaded into neighbouring registers. */
EK_INLINE eight interleave3(const int8_t *a, const int8_t *b, const int8_t *c, size_t at, const order *o)
{
    eight v;
    __asm__ volatile("ldr d29, [%2, %5]\n\t"
                     "ldr d30, [%3, %5]\n\t"
                     "ldr d31, [%4, %5]\n\t"
                     "tbl %0.16b, {v29.16b - v31.16b}, %6.16b\n\t"
                     "tbl %1.16b, {v29.16b - v31.16b}, %7.16b"
                     : "=&w"(v.low), "=w"(v.high)
                     : "r"(a), "r"(b), "r"(c), "r"(at), "w"(o->low), "w"(o->high)
                     : "v29", "v30", "v31", "memory");
    return v;
}

EK_INLINE eight interleave4(const int8_t *const tap[4], size_t at, const order *o)
{
    eight v;
    __asm__ volatile("ldr d28, [%2, %6]\n\t"
                     "ldr d29, [%3, %6]\n\t"
                     "ldr d30, [%4, %6]\n\t"
                     "ldr d31, [%5, %6]\n\t"
                     "tbl %0.16b, {v28.16b - v31.16b}, %7.16b\n\t"
                     "tbl %1.16b, {v28.16b - v31.16b}, %8.16b"
                     : "=&w"(v.low), "=w"(v.high)
                     : "r"(tap[0]), "r"(tap[1]), "r"(tap[2]), "r"(tap[3]), "r"(at), "w"(o->low), "w"(o->high)
                     : "v28", "v29", "v30", "v31", "memory");
    return v;
}

EK_INLINE void dot(sums *acc, const eight *v, const eight *w)
{
    acc->low = vdotq_s32(acc->low, v->low, w->low);
    acc->high = vdotq_s32(acc->high, v->high, w->high);
}

EK_INLINE eight weights_at(const job *j, size_t group)
{
    const int8_t *w = j->block->weights + group * 4 * SLOTS;
    return (eight){ vld1q_s8(w), vld1q_s8(w + 16) };
}

/* What every pixel needs, in registers: a store to the output might change it in memory, for all that
 * compilers know. */
typedef struct ending {
    sums bias, m, right;
    const int32_t *left; /* NULL: no channel shifts left */
    ek_output output;
} ending;

EK_INLINE sums load(const int32_t *p)
{
    return (sums){ vld1q_s32(p), vld1q_s32(p + 4) };
}

EK_INLINE ending ending_of(const job *j, bool any_left)
{
    const slots *b = j->block;
    return (ending){ load(b->bias), load(b->m), load(b->right), any_left ? b->left : NULL, j->output };
}

EK_INLINE int8x8_t finish(const sums *acc, const ending *e)
{
    sums v = *acc;
    if (e->left) {
        const sums left = load(e->left);
        v.low = vshlq_s32(v.low, left.low);
        v.high = vshlq_s32(v.high, left.high);
    }
    return ek_narrow8(vrshlq_s32(vqrdmulhq_s32(v.low, e->m.low), e->right.low),
                      vrshlq_s32(vqrdmulhq_s32(v.high, e->m.high), e->right.high), &e->output);
}

static void any_taps(const job *j)
{
    const ending e = ending_of(j, j->any_left);
    const order o = order_make();
    const size_t out_step = j->out_step, in_step = j->in_step;
    const uint32_t count = j->tap_count;
    int8_t *out = j->out;
    for (size_t p = 0, at = j->first; p < j->pixels; p++, at += in_step, out += out_step) {
        const int8_t *const *taps = j->taps, *tap[4];
        const int8_t *weights = j->block->weights;
        sums acc = e.bias;
        for (uint32_t t = 0; t < count; t += 4, taps += 4, weights += 4 * SLOTS) {
            const uint32_t left = count - t;
            tap[0] = taps[0];
            tap[1] = taps[left > 1 ? 1 : 0]; /* any, where the weights are 0 */
            tap[2] = taps[left > 2 ? 2 : 0];
            tap[3] = taps[left > 3 ? 3 : 0];
            const eight v = interleave4(tap, at, &o), w = { vld1q_s8(weights), vld1q_s8(weights + 16) };
            dot(&acc, &v, &w);
        }
        vst1_s8(out, finish(&acc, &e));
    }
}

/* Nine taps in windows that share no columns, or with shifts to the left, which are rare. */
static void nine_taps(const job *j)
{
    const ending e = ending_of(j, j->any_left);
    const order o = order_make();
    const eight w[3] = { weights_at(j, 0), weights_at(j, 1), weights_at(j, 2) };
    const size_t out_step = j->out_step, in_step = j->in_step;
    int8_t *out = j->out;
    const int8_t *tap[9];
#pragma GCC unroll 9
    for (int t = 0; t < 9; t++) tap[t] = j->taps[t] + j->first;
    for (size_t p = 0, at = 0; p < j->pixels; p++, at += in_step, out += out_step) {
        sums acc = e.bias;
#pragma GCC unroll 3
        for (int x = 0; x < 3; x++) {
            const eight v = interleave3(tap[x], tap[3 + x], tap[6 + x], at, &o);
            dot(&acc, &v, &w[x]);
        }
        vst1_s8(out, finish(&acc, &e));
    }
}

typedef struct walk {
    const int8_t *row[3];
    size_t at, step; /* the next column, and from one to the next */
    eight w[3];
    order order;
} walk;

EK_INLINE walk walk_make(const job *j)
{
    return (walk){ { j->taps[0], j->taps[3], j->taps[6] },
                   j->first,
                   (size_t)((uintptr_t)j->taps[1] - (uintptr_t)j->taps[0]),
                   { weights_at(j, 0), weights_at(j, 1), weights_at(j, 2) },
                   order_make() };
}

EK_INLINE eight next_column(walk *k)
{
    const eight v = interleave3(k->row[0], k->row[1], k->row[2], k->at, &k->order);
    k->at += k->step;
    return v;
}

/* A column ends one window, is in the middle of the next and begins the third. */
EK_INLINE bool step_one(int8_t **out, size_t out_step, size_t *pixels, sums *ends, sums *middle, sums *begins, walk *k,
                        const ending *e)
{
    const eight v = next_column(k);
    *begins = e->bias;
    dot(begins, &v, &k->w[0]);
    dot(middle, &v, &k->w[1]);
    dot(ends, &v, &k->w[2]);
    vst1_s8(*out, finish(ends, e));
    *out += out_step;
    return --*pixels != 0;
}

static void stride_one(const job *j)
{
    const ending e = ending_of(j, false);
    walk k = walk_make(j);
    const size_t out_step = j->out_step;
    size_t pixels = j->pixels;
    int8_t *out = j->out;
    sums a = e.bias, b = e.bias, c;
    eight v = next_column(&k);
    dot(&a, &v, &k.w[0]);
    v = next_column(&k);
    dot(&a, &v, &k.w[1]);
    dot(&b, &v, &k.w[0]);
    while (step_one(&out, out_step, &pixels, &a, &b, &c, &k, &e) &&
           step_one(&out, out_step, &pixels, &b, &c, &a, &k, &e) &&
           step_one(&out, out_step, &pixels, &c, &a, &b, &k, &e)) {
    }
}

/* The middle column, then one that ends a window and begins the next. */
EK_INLINE bool step_two(int8_t **out, size_t out_step, size_t *pixels, sums *ends, sums *begins, walk *k,
                        const ending *e)
{
    eight v = next_column(k);
    dot(ends, &v, &k->w[1]);
    v = next_column(k);
    *begins = e->bias;
    dot(ends, &v, &k->w[2]);
    dot(begins, &v, &k->w[0]);
    vst1_s8(*out, finish(ends, e));
    *out += out_step;
    return --*pixels != 0;
}

static void stride_two(const job *j)
{
    const ending e = ending_of(j, false);
    walk k = walk_make(j);
    const size_t out_step = j->out_step;
    size_t pixels = j->pixels;
    int8_t *out = j->out;
    sums a = e.bias, b;
    const eight v = next_column(&k);
    dot(&a, &v, &k.w[0]);
    while (step_two(&out, out_step, &pixels, &a, &b, &k, &e) && step_two(&out, out_step, &pixels, &b, &a, &k, &e)) {
    }
}

/* Fewer than 8 channels, through copies of the taps. */
static void few_channels(const job *j)
{
    const ending e = ending_of(j, j->any_left);
    const order o = order_make();
    int8_t *out = j->out;
    for (size_t p = 0, at = 0; p < j->pixels; p++, at += j->in_step, out += j->out_step) {
        int32x4_t acc[2] = { e.bias.low, e.bias.high };
        const uint32_t count = j->tap_count, groups = (count + 3) / 4;
        for (uint32_t g = 0; g < groups; g++) {
            int8_t bytes[4][16] = { { 0 } };
            for (uint32_t i = 0; i < 4; i++) {
                const uint32_t t = count == 9 ? i * 3 + g : g * 4 + i;
                if (count == 9 ? i < 3 : t < count) vst1_s8(bytes[i], ek_load_part8(j->taps[t] + at, j->c));
            }
            const int8x16x4_t in = vld1q_s8_x4(bytes[0]);
            const eight w = weights_at(j, g);
            acc[0] = vdotq_s32(acc[0], vqtbl4q_s8(in, o.low), w.low);
            acc[1] = vdotq_s32(acc[1], vqtbl4q_s8(in, o.high), w.high);
        }
        const sums all = { acc[0], acc[1] };
        ek_store_part8(out, finish(&all, &e), j->c);
    }
}

/* The taps of a kernel row are neighbouring columns: how many columns from pixel to pixel, if 1 or 2. */
static uint8_t stride_of(const int8_t *const *taps, uint32_t tap_count, size_t in_step)
{
    if (tap_count != 9) return 0;
    const size_t column = (size_t)((uintptr_t)taps[1] - (uintptr_t)taps[0]);
    for (int t = 0; t < 9; t += 3)
        if (taps[t + 1] != taps[t] + column || taps[t + 2] != taps[t + 1] + column) return 0;
    return column == in_step ? 1 : 2 * column == in_step ? 2 : 0;
}

void ek_dotprod_depthwise_s8(int8_t *out, size_t out_step, const int8_t *const *taps, size_t in_step, size_t pixels,
                             const ek_depthwise_s8 *d)
{
    const header *h = d->weights;
    const uint8_t *block = (const uint8_t *)d->weights + HEADER;
    const ek_requant *q = &d->requant;
    job j = { .taps = taps,
              .out_step = out_step,
              .in_step = in_step,
              .pixels = pixels,
              .tap_count = d->taps,
              .c = d->c,
              .any_left = h->any_left,
              .stride = stride_of(taps, d->taps, in_step),
              .output = ek_output_from(q->zero_point, q->qmin, q->qmax) };
    const size_t blocks = pixels ? block_count(d->c) : 0;
    for (size_t i = 0; i < blocks; i++, block += sizeof(slots) + weights_bytes(d->taps)) {
        j.block = (const slots *)(const void *)block;
        j.first = block_first(i, d->c);
        j.out = out + j.first;
        if (d->c < SLOTS)
            few_channels(&j);
        else if (d->taps != 9)
            any_taps(&j);
        else if (h->any_left || !j.stride)
            nine_taps(&j);
        else if (j.stride == 1)
            stride_one(&j);
        else
            stride_two(&j);
    }
}

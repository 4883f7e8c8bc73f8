/* depthwise_s8 on SDOT: the bytes of up to 4 taps are interleaved by a table look-up, so that a lane
 * holds the 4 inputs of a channel. Nine taps go in columns of 3, which neighbouring pixels of a 3 x 3
 * window share. Weights are [groups][16 channels][4 taps], unused ones 0. */
#include "kernels.h"
#include "../neon/depthwise_s8.h"

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

/* Byte 4s + i of the interleaved vectors is byte s of input i: the four look-ups of 16 channels. */
typedef struct order {
    uint8x16_t at[4];
} order;

EK_INLINE order order_make(void)
{
    static const uint8_t first[16] = { 0, 16, 32, 48, 1, 17, 33, 49, 2, 18, 34, 50, 3, 19, 35, 51 };
    order o = { { vld1q_u8(first) } };
#pragma GCC unroll 3
    for (int i = 1; i < 4; i++) o.at[i] = vaddq_u8(o.at[0], vdupq_n_u8((uint8_t)(4 * i)));
    return o;
}

/* The fourth byte is that of no input: 48 and more look up 0 in three vectors. */
EK_INLINE void interleave3(int8x16_t v[4], int8x16_t x, int8x16_t y, int8x16_t z, const order *o)
{
    const int8x16x3_t in = { { x, y, z } };
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) v[i] = vqtbl3q_s8(in, o->at[i]);
}

EK_INLINE void interleave4(int8x16_t v[4], const int8x16_t x[4], const order *o)
{
    const int8x16x4_t in = { { x[0], x[1], x[2], x[3] } };
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) v[i] = vqtbl4q_s8(in, o->at[i]);
}

EK_INLINE void dot(int32x4_t acc[4], const int8x16_t v[4], const int8x16_t w[4])
{
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) acc[i] = vdotq_s32(acc[i], v[i], w[i]);
}

EK_INLINE void start(int32x4_t acc[4], const slots *b)
{
#pragma GCC unroll 4
    for (int i = 0; i < 4; i++) acc[i] = vld1q_s32(b->bias + 4 * i);
}

EK_INLINE void any_taps(const job *j, const mode m)
{
    const slots *const b = j->block;
    const order o = order_make();
    const size_t in_step = m == PAIR ? j->in_step / 2 : 0, out_step = m == PAIR ? j->out_step / 2 : 0;
    int8_t *out = j->out;
    for (size_t p = 0, at = j->first; p < j->pixels; p++, at += j->in_step, out += j->out_step) {
        const int8_t *weights = b->weights;
        int32x4_t acc[4];
        start(acc, b);
        for (uint32_t t = 0; t < j->tap_count; t += 4, weights += 4 * SLOTS) {
            int8x16_t x[4], v[4], w[4];
#pragma GCC unroll 4
            for (uint32_t i = 0; i < 4; i++) {
                x[i] = t + i < j->tap_count ? load_tile(j->taps[t + i] + at, in_step, j->c, m) : vdupq_n_s8(0);
                w[i] = vld1q_s8(weights + i * SLOTS);
            }
            interleave4(v, x, &o);
            dot(acc, v, w);
        }
        store_tile(out, acc, b, j, out_step, m);
    }
}

typedef struct nine {
    int8x16_t w[3][4];
    order order;
    const int8_t *row[3][3];
} nine;

EK_INLINE nine nine_make(const job *j)
{
    nine n = { .order = order_make() };
#pragma GCC unroll 9
    for (int t = 0; t < 9; t++) n.row[t / 3][t % 3] = j->taps[t] + j->first;
#pragma GCC unroll 12
    for (int i = 0; i < 12; i++) n.w[i / 4][i % 4] = vld1q_s8(j->block->weights + i * SLOTS);
    return n;
}

/* Column x of the rows' pointer i. */
EK_INLINE void column(int8x16_t v[4], const nine *n, int i, size_t x, size_t in_step, const job *j, const mode m)
{
    interleave3(v, load_tile(n->row[0][i] + x, in_step, j->c, m), load_tile(n->row[1][i] + x, in_step, j->c, m),
                load_tile(n->row[2][i] + x, in_step, j->c, m), &n->order);
}

EK_INLINE void nine_taps(const job *j, const nine *n, const mode m, size_t from)
{
    const size_t in_step = m == PAIR ? j->in_step / 2 : 0, out_step = m == PAIR ? j->out_step / 2 : 0;
    int8_t *out = j->out + from * j->out_step;
    for (size_t p = from, at = from * j->in_step; p < j->pixels; p++, at += j->in_step, out += j->out_step) {
        int32x4_t acc[4];
        int8x16_t v[4];
        start(acc, j->block);
#pragma GCC unroll 3
        for (int x = 0; x < 3; x++) {
            column(v, n, x, at, in_step, j, m);
            dot(acc, v, n->w[x]);
        }
        store_tile(out, acc, j->block, j, out_step, m);
    }
}

/* Two tiles at once, S columns apart, and their S + 3 columns once. */
EK_INLINE void window(const job *j, const nine *n, const mode m, const size_t S, size_t step)
{
    size_t p = 0, at = 0;
    int8_t *out = j->out;
    for (; p + 2 <= j->pixels; p += 2, at += 2 * j->in_step, out += 2 * j->out_step) {
        int32x4_t acc[2][4];
        int8x16_t v[4];
        start(acc[0], j->block);
        start(acc[1], j->block);
#pragma GCC unroll 5
        for (size_t x = 0; x < S + 3; x++) {
            column(v, n, 0, at + x * step, 0, j, m);
            if (x < 3) dot(acc[0], v, n->w[x]);
            if (x >= S) dot(acc[1], v, n->w[x - S]);
        }
        store_tile(out, acc[0], j->block, j, 0, m);
        store_tile(out + j->out_step, acc[1], j->block, j, 0, m);
    }
    nine_taps(j, n, m, p);
}

EK_INLINE void all_pixels(const job *j, const mode m)
{
    if (j->tap_count != 9) {
        any_taps(j, m);
        return;
    }
    const nine n = nine_make(j);
    if (m == WIDE && j->window_stride == 1)
        window(j, &n, m, 1, j->in_step);
    else if (m == WIDE && j->window_stride == 2)
        window(j, &n, m, 2, j->in_step / 2);
    else if (m == DENSE && j->window_stride == 1)
        window(j, &n, m, 2, 8);
    else
        nine_taps(j, &n, m, 0);
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
    run(out, out_step, taps, in_step, pixels, d);
}

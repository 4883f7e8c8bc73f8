/* depthwise_s8 on vrmpy: bytes of four taps are interleaved, so that one word holds the four inputs
 * of a slot. Slots are channels, and of few channels also the pixels that follow.
 */
#include "depthwise.h"
#include "kernels.h"

typedef enum mode {
    EXACT, /* 128 bytes that all exist */
    SOME,  /* the first `bytes` */
    EVEN   /* every other pixel of 256 bytes, of which `bytes` exist */
} mode;

typedef struct job {
    const int8_t *const *taps;
    uint32_t tap_count, c;
    const ek_depthwise_block *block;
    ek_output128 output;
} job;

EK_INLINE HVX_Vector load_tile(const int8_t *x, size_t bytes, uint32_t c, const mode m)
{
    if (m == EXACT) return ek_load(x);
    if (m == SOME) return ek_load_some(x, bytes);
    const HVX_Vector low = bytes < EK_LINE ? ek_load_some(x, bytes) : ek_load(x);
    const HVX_Vector high = bytes > EK_LINE ? ek_load_some(x + EK_LINE, bytes - EK_LINE) : low;
    return Q6_V_lo_W(Q6_W_vdeal_VVR(high, low, -(int32_t)c));
}

/* Four taps of 128 slots. */
EK_INLINE void add_taps(HVX_Vector acc[4], HVX_Vector x0, HVX_Vector x1, HVX_Vector x2, HVX_Vector x3,
                        const HVX_Vector w[4])
{
    const HVX_VectorPair x01 = Q6_W_vshuff_VVR(x1, x0, -1), x23 = Q6_W_vshuff_VVR(x3, x2, -1);
    const HVX_VectorPair low = Q6_W_vshuff_VVR(Q6_V_lo_W(x23), Q6_V_lo_W(x01), -2);
    const HVX_VectorPair high = Q6_W_vshuff_VVR(Q6_V_hi_W(x23), Q6_V_hi_W(x01), -2);
    acc[0] = Q6_Vw_vrmpyacc_VwVbVb(acc[0], Q6_V_lo_W(low), ek_line(w));
    acc[1] = Q6_Vw_vrmpyacc_VwVbVb(acc[1], Q6_V_hi_W(low), ek_line(w + 1));
    acc[2] = Q6_Vw_vrmpyacc_VwVbVb(acc[2], Q6_V_lo_W(high), ek_line(w + 2));
    acc[3] = Q6_Vw_vrmpyacc_VwVbVb(acc[3], Q6_V_hi_W(high), ek_line(w + 3));
}

/* 128 slots, of which the first tap's are at taps[0] + at. */
EK_INLINE HVX_Vector tile(const job *j, size_t at, size_t bytes, const mode m)
{
    const ek_depthwise_block *const b = j->block;
    const HVX_Vector(*w)[4] = b->weights, zero = Q6_V_vzero();
    HVX_Vector acc[4] = { b->each[0].bias, b->each[1].bias, b->each[2].bias, b->each[3].bias };
    const int8_t *const *tap = j->taps;
    uint32_t left = j->tap_count;
    for (; left >= 4; left -= 4, tap += 4, w++)
        add_taps(acc, load_tile(tap[0] + at, bytes, j->c, m), load_tile(tap[1] + at, bytes, j->c, m),
                 load_tile(tap[2] + at, bytes, j->c, m), load_tile(tap[3] + at, bytes, j->c, m), *w);
    if (left) {
        const HVX_Vector x0 = load_tile(tap[0] + at, bytes, j->c, m);
        const HVX_Vector x1 = left > 1 ? load_tile(tap[1] + at, bytes, j->c, m) : zero;
        const HVX_Vector x2 = left > 2 ? load_tile(tap[2] + at, bytes, j->c, m) : zero;
        add_taps(acc, x0, x1, x2, zero, *w);
    }
    return ek_narrow128(ek_scale32(acc[0], &b->each[0]), ek_scale32(acc[1], &b->each[1]),
                        ek_scale32(acc[2], &b->each[2]), ek_scale32(acc[3], &b->each[3]), &j->output);
}

/* Channels [first, first + count), pixel after pixel. */
static void run_pixels(const job *j, int8_t *out, size_t out_step, size_t in_step, size_t pixels, size_t first,
                       size_t count)
{
    for (size_t p = 0; p < pixels; p++) {
        if (count == EK_SLOTS)
            ek_store(out + p * out_step + first, tile(j, p * in_step + first, EK_SLOTS, EXACT));
        else
            ek_store_some(out + p * out_step + first, tile(j, p * in_step + first, count, SOME), count);
    }
}

/* Pixels and channels are one run of bytes, in the input as in the output. What a whole line holds
 * beyond its last whole pixel is written over by the next one. */
static void run_dense(const job *j, int8_t *out, size_t bytes)
{
    const size_t each = (size_t)ek_depthwise_pixels(j->c) * j->c;
    size_t at = 0;
    for (; at + EK_SLOTS <= bytes; at += each) ek_store(out + at, tile(j, at, EK_SLOTS, EXACT));
    for (; at < bytes; at += each) {
        const size_t here = bytes - at < each ? bytes - at : each;
        ek_store_some(out + at, tile(j, at, here, SOME), here);
    }
}

/* The same on all pixels of the input, of which every `stride`th is wanted. */
static void run_skip(const job *j, int8_t *out, size_t pixels, size_t stride)
{
    const size_t c = j->c, all = ((pixels - 1) * stride + 1) * c;
    const size_t each = (ek_depthwise_pixels(j->c) + stride - 1) / stride;
    for (size_t done = 0; done < pixels; done += each, out += each * c) {
        const size_t at = done * stride * c, now = pixels - done < each ? pixels - done : each;
        HVX_Vector line = all - at >= EK_SLOTS ? tile(j, at, EK_SLOTS, EXACT) : tile(j, at, all - at, SOME);
        HVX_Vector wanted = line;
        for (size_t i = 1; i < now; i++) {
            line = Q6_V_vror_VR(line, (int32_t)((stride - 1) * c));
            wanted = Q6_V_vmux_QVV(Q6_Q_vsetq_R((int32_t)(i * c)), wanted, line);
        }
        ek_store_some(out, wanted, now * c);
    }
}

/* Every other pixel of the input, of a power of two of channels, is left out on loading. */
static void run_even(const job *j, int8_t *out, size_t bytes)
{
    for (size_t at = 0; at < bytes; at += EK_SLOTS) {
        const size_t here = bytes - at < EK_SLOTS ? bytes - at : EK_SLOTS;
        ek_store_some(out + at, tile(j, 2 * at, 2 * here - j->c, EVEN), here);
    }
}

void ek_hvx_depthwise_s8(int8_t *out, size_t out_step, const int8_t *const *taps, size_t in_step, size_t pixels,
                         const ek_depthwise_s8 *d)
{
    job j = { .taps = taps,
              .tap_count = d->taps,
              .c = d->c,
              .output = ek_output_from(d->requant.zero_point, d->requant.qmin, d->requant.qmax) };
    const char *block = ek_first_line(d->weights);
    const size_t c = d->c;
    for (size_t first = 0; first < c; first += EK_SLOTS, block += ek_depthwise_block_bytes(d->taps)) {
        j.block = (const ek_depthwise_block *)(const void *)ek_aligned(block);
        if (c <= EK_SLOTS / 2 && out_step == c && in_step == c)
            run_dense(&j, out, pixels * c);
        else if (c <= EK_SLOTS / 2 && out_step == c && in_step == 2 * c && (c & (c - 1)) == 0)
            run_even(&j, out, pixels * c);
        else if (out_step == c && (in_step == 2 * c || in_step == 3 * c) && in_step <= EK_SLOTS / 2)
            run_skip(&j, out, pixels, in_step / c);
        else
            run_pixels(&j, out, out_step, in_step, pixels, first, c - first < EK_SLOTS ? c - first : EK_SLOTS);
    }
}

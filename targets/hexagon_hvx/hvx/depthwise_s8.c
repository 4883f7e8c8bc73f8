/* depthwise_s8 on vrmpy: bytes of four taps are interleaved, so that one word holds the four inputs
 * of a slot. Slots are channels, and of few channels also the pixels that follow.
 */
#include <stdbool.h>

#include "kernels.h"
#include "requant.h"

#define ELEMENT int8_t
#define OUTPUT  ek_output128
#include "depthwise_runs.h"

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

EK_INLINE HVX_Vector tile(const job *j, size_t at, size_t bytes, const mode m)
{
    const ek_depthwise_block *const b = (const ek_depthwise_block *)(const void *)ek_aligned(j->block);
    const HVX_Vector(*w)[4] = b->weights, zero = Q6_V_vzero();
    HVX_Vector acc[4] = { b->each[0].bias, b->each[1].bias, b->each[2].bias, b->each[3].bias };
    const int8_t *const *tap = j->taps;
    uint32_t left = j->tap_count;
    for (; left >= 4; left -= 4, tap += 4, w++)
        add_taps(acc, load_tile(tap[0], at, bytes, j->pixel, m), load_tile(tap[1], at, bytes, j->pixel, m),
                 load_tile(tap[2], at, bytes, j->pixel, m), load_tile(tap[3], at, bytes, j->pixel, m), *w);
    if (left) {
        const HVX_Vector x0 = load_tile(tap[0], at, bytes, j->pixel, m);
        const HVX_Vector x1 = left > 1 ? load_tile(tap[1], at, bytes, j->pixel, m) : zero;
        const HVX_Vector x2 = left > 2 ? load_tile(tap[2], at, bytes, j->pixel, m) : zero;
        add_taps(acc, x0, x1, x2, zero, *w);
    }
    return ek_narrow128(ek_scale32(acc[0], &b->each[0]), ek_scale32(acc[1], &b->each[1]),
                        ek_scale32(acc[2], &b->each[2]), ek_scale32(acc[3], &b->each[3]), &j->output);
}

void ek_hvx_depthwise_s8(int8_t *out, size_t out_step, const int8_t *const *taps, size_t in_step, size_t pixels,
                         const ek_depthwise_s8 *d)
{
    job j = { .taps = taps,
              .tap_count = d->taps,
              .pixel = d->c,
              .block = ek_first_line(d->weights),
              .output = ek_output_from(d->requant.zero_point, d->requant.qmin, d->requant.qmax) };
    run_blocks(&j, (char *)out, out_step, in_step, pixels, ek_depthwise_block_bytes(d->taps));
}

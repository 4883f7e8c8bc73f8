/* depthwise_s16 on vdmpy: halfwords of two taps are interleaved, so that one word holds the two inputs of a
 * slot. Sums of 256 taps fit int32; of more, the upper bits go to `high` in between.
 */
#include "kernels.h"

#define ELEMENT int16_t
#define OUTPUT  ek_limits64
#include "depthwise_runs.h"

enum { CHUNK = 256 };

/* Two taps of 64 slots. */
EK_INLINE void add_taps(ek_sums32 s[2], HVX_Vector x0, HVX_Vector x1, const HVX_Vector w[2])
{
    const HVX_VectorPair x01 = Q6_W_vshuff_VVR(x1, x0, -2);
    s[0].low = Q6_Vw_vdmpyacc_VwVhVh_sat(s[0].low, Q6_V_lo_W(x01), ek_line(w));
    s[1].low = Q6_Vw_vdmpyacc_VwVhVh_sat(s[1].low, Q6_V_hi_W(x01), ek_line(w + 1));
}

EK_INLINE HVX_Vector tile(const job *j, size_t at, size_t bytes, const mode m)
{
    const ek_depthwise_block16 *const b = (const ek_depthwise_block16 *)(const void *)ek_aligned(j->block);
    const HVX_Vector(*w)[2] = b->weights;
    ek_sums32 s[2] = { b->start[0], b->start[1] };
    const int16_t *const *tap = j->taps;
    uint32_t left = j->tap_count, chunk = CHUNK;
    for (; left >= 2; left -= 2, chunk -= 2, tap += 2, w++) {
        if (!chunk) {
            s[0] = ek_carry(s[0]);
            s[1] = ek_carry(s[1]);
            chunk = CHUNK;
        }
        add_taps(s, load_tile(tap[0], at, bytes, j->pixel, m), load_tile(tap[1], at, bytes, j->pixel, m), *w);
    }
    if (left) add_taps(s, load_tile(tap[0], at, bytes, j->pixel, m), Q6_V_vzero(), *w);
    return ek_clamp64(ek_scale16(s[0], &b->ratios[0]), ek_scale16(s[1], &b->ratios[1]), &j->output);
}

void ek_hvx_depthwise_s16(int16_t *out, size_t out_step, const int16_t *const *taps, size_t in_step, size_t pixels,
                          const ek_depthwise_s16 *d)
{
    const size_t each = sizeof *out;
    job j = { .taps = taps,
              .tap_count = d->taps,
              .pixel = d->c * each,
              .block = ek_first_line(d->weights),
              .output = ek_limits_from(d->requant.qmin, d->requant.qmax) };
    run_blocks(&j, (char *)out, out_step * each, in_step * each, pixels, ek_depthwise_block16_bytes(d->taps));
}

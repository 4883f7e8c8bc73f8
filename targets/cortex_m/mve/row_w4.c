/* row_w4: a vector of 16 bytes holds 32 weights; both nibbles of its bytes, moved to the top, are int8 of 16 times
 * the weight, for the even and the odd inputs. */
#include <arm_mve.h>

#include "kernels.h"
#include "kernels_ref/reference.h"
#include "requant.h"

enum { CHANNELS = 4, STEP = 32, SCALE_BITS = 4, MOST = 1 << 15 /* of k, before sums leave 32 bits */ };

typedef struct inputs {
    int8x16_t even, odd;
} inputs;

/* The first `count` inputs, behind them zeros; no more than those are read. */
static inputs last_inputs(const int8_t *a, uint32_t count)
{
    const uint8x16_t at = vidupq_n_u8(0, 2);
    return (inputs){ vldrbq_gather_offset_z_s8(a, at, vctp8q((count + 1) / 2)),
                     vldrbq_gather_offset_z_s8(a + 1, at, vctp8q(count / 2)) };
}

static inline int32_t multiplied(int32_t sum, inputs x, int8x16_t pairs)
{
    sum = vmladavaq_s8(sum, x.even, vshlq_n_s8(pairs, 4));
    return vmladavaq_s8(sum, x.odd, vandq_s8(pairs, vdupq_n_s8(-16)));
}

/* 16 * products of `count` inputs with 4 channels, whose nibbles begin at w0 to w3; `room` inputs may be read. */
static inline int32x4_t multiply(const int8_t *a, uint32_t count, uint32_t room, const int8_t *w0, const int8_t *w1,
                                 const int8_t *w2, const int8_t *w3)
{
    int32_t s0 = 0, s1 = 0, s2 = 0, s3 = 0;
    for (uint32_t steps = count / STEP; steps; steps--, a += STEP) {
        const int8x16x2_t two = vld2q_s8(a);
        const inputs x = { two.val[0], two.val[1] };
        s0 = multiplied(s0, x, vldrbq_s8(w0));
        s1 = multiplied(s1, x, vldrbq_s8(w1));
        s2 = multiplied(s2, x, vldrbq_s8(w2));
        s3 = multiplied(s3, x, vldrbq_s8(w3));
        w0 += STEP / 2, w1 += STEP / 2, w2 += STEP / 2, w3 += STEP / 2;
    }
    if (count % STEP) {
        const mve_pred16_t bytes = vctp8q((count % STEP + 1) / 2);
        inputs x;
        if (room - count / STEP * STEP >= STEP) {
            const int8x16x2_t two = vld2q_s8(a);
            x = (inputs){ two.val[0], two.val[1] };
        } else {
            x = last_inputs(a, count % STEP);
        }
        s0 = multiplied(s0, x, vldrbq_z_s8(w0, bytes));
        s1 = multiplied(s1, x, vldrbq_z_s8(w1, bytes));
        s2 = multiplied(s2, x, vldrbq_z_s8(w2, bytes));
        s3 = multiplied(s3, x, vldrbq_z_s8(w3, bytes));
    }
    const int32x4_t even = vsetq_lane_s32(s2, vsetq_lane_s32(s0, vuninitializedq_s32(), 0), 2);
    return vsetq_lane_s32(s3, vsetq_lane_s32(s1, even, 1), 3);
}

void ek_mve_row_w4(int8_t *out, const int8_t *a, const ek_w4 *w, const ek_requant *r, uint32_t n)
{
    const uint32_t k = w->k, group = w->group, most = group ? group : MOST, groups = group ? (k - 1) / group + 1 : 0;
    const size_t row = k / 2 + k % 2;
    if (group % 2 || group > MOST) { /* groups that begin within bytes, or are long */
        ek_row_w4_ref(out, a, w, r, n);
        return;
    }
    const uint32x4_t apart = vmulq_n_u32(vidupq_n_u32(0, 1), groups);
    for (uint32_t j = 0; j < n; j += CHANNELS) {
        const mve_pred16_t there = vctp32q(n - j);
        const size_t c1 = n - j > 1 ? row : 0, c2 = n - j > 2 ? 2 * row : 0, c3 = n - j > 3 ? 3 * row : 0;
        const int8_t *nibbles = (const int8_t *)w->nibbles + j * row;
        const uint8_t *multipliers = w->multipliers + (size_t)j * groups;
        int32x4_t sum = vldrwq_z_s32(r->bias + j, there);
        for (uint32_t i = 0, now; i < k; i += now, nibbles += now / 2) {
            now = k - i < most ? k - i : most;
            int32x4_t part = multiply(a + i, now, k - i, nibbles, nibbles + c1, nibbles + c2, nibbles + c3);
            part = vshrq_n_s32(part, SCALE_BITS);
            if (group) {
                const uint32x4_t m = vldrbq_gather_offset_z_u32(multipliers++, apart, there);
                part = vmulq_s32(part, vreinterpretq_s32_u32(m));
            }
            sum = vaddq_s32(sum, part);
        }
        sum = ek_mve_scale(sum, vldrwq_z_s32(r->multiplier + j, there), vldrbq_z_s32(r->shift + j, there));
        sum = vaddq_n_s32(sum, r->zero_point);
        sum = vminq_s32(vmaxq_s32(sum, vdupq_n_s32(r->qmin)), vdupq_n_s32(r->qmax));
        vstrbq_p_s32(out + j, sum, there);
    }
}

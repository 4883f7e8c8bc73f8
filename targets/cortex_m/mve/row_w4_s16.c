/* row_w4 for int16: 16 inputs of a channel at a time, the even ones apart from the odd ones, as nibbles lie in bytes.
 */
#include <arm_mve.h>

#include "fixed_point.h"
#include "kernels.h"
#include "kernels_ref/reference.h"

enum { STEP = 16, MOST = 4096 /* products of nibbles whose sum fits int32 */ };

static inline int16x8_t lower(uint16x8_t bytes)
{
    return vshrq_n_s16(vshlq_n_s16(vreinterpretq_s16_u16(bytes), 12), 12);
}

static inline int16x8_t upper(uint16x8_t bytes)
{
    return vshrq_n_s16(vshlq_n_s16(vreinterpretq_s16_u16(bytes), 8), 12);
}

static int32_t dot(const int16_t *a, const uint8_t *row, uint32_t count)
{
    int32_t sum = 0;
    for (; count >= STEP; count -= STEP, a += STEP, row += STEP / 2) {
        const int16x8x2_t x = vld2q_s16(a);
        const uint16x8_t bytes = vldrbq_u16(row);
        sum = vmladavaq_s16(sum, x.val[0], lower(bytes));
        sum = vmladavaq_s16(sum, x.val[1], upper(bytes));
    }
    if (!count) return sum;
    const uint16x8_t even = vidupq_n_u16(0, 2);
    const mve_pred16_t evens = vctp16q(count / 2 + count % 2), odds = vctp16q(count / 2);
    const uint16x8_t bytes = vldrbq_z_u16(row, evens);
    sum = vmladavaq_s16(sum, vldrhq_gather_shifted_offset_z_s16(a, even, evens), lower(bytes));
    return vmladavaq_s16(sum, vldrhq_gather_shifted_offset_z_s16(a + 1, even, odds), upper(bytes));
}

void ek_mve_row_w4_s16(int16_t *out, const int16_t *a, const ek_w4 *w, const ek_requant16 *r, uint32_t n)
{
    const uint32_t k = w->k, group = w->group, most = group ? group : MOST;
    const uint8_t *row = w->nibbles, *multiplier = w->multipliers;
    if (group % STEP || group > MOST) { /* groups that begin within vectors, or are long */
        ek_row_w4_s16_ref(out, a, w, r, n);
        return;
    }
    for (uint32_t j = 0; j < n; j++) {
        int64_t sum = r->bias[j];
        for (uint32_t i = 0, now; i < k; i += now, row += now / 2 + now % 2) {
            now = k - i < most ? k - i : most;
            sum += (int64_t)dot(a + i, row, now) * (group ? *multiplier++ : 1);
        }
        out[j] = ek_requantize16(sum, r->multiplier[j], r->shift[j], r->qmin, r->qmax);
    }
}

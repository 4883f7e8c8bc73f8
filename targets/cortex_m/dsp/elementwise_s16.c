#include "edgekit/kernels.h"
#include "fixed_point.h"
#include "kernels.h"
#include "kernels_ref/reference.h"

enum { HALF_WORD = 16, WORD = 32 };

/* Inputs are taken 2^16 times: the high word of the sum then has 16 bits of the shift, and the core one instruction
 * for a product and a sum of 64 bits. */
void ek_dsp_add_s16(int16_t *out, const int16_t *a, const int16_t *b, size_t b_step, size_t count, const ek_add_s16 *p)
{
    if (p->shift <= HALF_WORD || !count) {
        ek_add_s16_ref(out, a, b, b_step, count, p);
        return;
    }
    const int32_t ma = p->a_multiplier, mb = p->b_multiplier, qmin = p->qmin, qmax = p->qmax, one = 1 << HALF_WORD;
    const int32_t shift = p->shift - HALF_WORD, half = 1 << (shift - 1);
    const int16_t *const end = a + count;
    do {
        const int64_t sum = (int64_t)(*a++ * one) * ma + (int64_t)(*b * one) * mb;
        *out++ = (int16_t)ek_clamp(((int32_t)(sum >> WORD) + half) >> shift, qmin, qmax);
        b += b_step;
    } while (a != end);
}

#include "kernels_ref/reference.h"

void ek_add_s16_ref(int16_t *out, const int16_t *a, const int16_t *b, size_t b_step, size_t count, const ek_add_s16 *p)
{
    const int32_t ma = p->a_multiplier, mb = p->b_multiplier, shift = p->shift;
    const int64_t half = INT64_C(1) << (shift - 1), qmin = p->qmin, qmax = p->qmax;
    for (size_t i = 0; i < count; i++) {
        const int64_t q = ((int64_t)a[i] * ma + (int64_t)b[i * b_step] * mb + half) >> shift;
        out[i] = (int16_t)(q < qmin ? qmin : q > qmax ? qmax : q);
    }
}

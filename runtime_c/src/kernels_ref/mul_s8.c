#include "../fixed_point.h"
#include "reference.h"

void ek_mul_s8_ref(int8_t *out, const int8_t *a, const int8_t *b, size_t b_step, size_t count, const ek_mul_s8 *p)
{
    for (size_t i = 0; i < count; i++) {
        const int32_t acc = (a[i] - p->a_zero) * (b[i * b_step] - p->b_zero);
        out[i] = ek_requantize(acc, p->multiplier, p->shift, p->zero_point, p->qmin, p->qmax);
    }
}

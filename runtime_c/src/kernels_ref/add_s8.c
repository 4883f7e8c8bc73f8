#include "../fixed_point.h"
#include "reference.h"

void ek_add_s8_ref(int8_t *out, const int8_t *a, const int8_t *b, size_t b_step, size_t count, const ek_add_s8 *p)
{
    for (size_t i = 0; i < count; i++) {
        const int32_t sum = a[i] * p->a_multiplier + b[i * b_step] * p->b_multiplier + p->bias;
        out[i] = (int8_t)ek_clamp(sum >> p->shift, p->qmin, p->qmax);
    }
}

#include "../fixed_point.h"
#include "reference.h"

void ek_mul_s16_ref(int16_t *out, const int16_t *a, const int16_t *b, size_t b_step, size_t count, const ek_mul_s16 *p)
{
    for (size_t i = 0; i < count; i++)
        out[i] = ek_requantize16(a[i] * b[i * b_step], p->multiplier, p->shift, p->qmin, p->qmax);
}

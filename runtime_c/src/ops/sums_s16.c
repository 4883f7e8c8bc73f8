#include "ops/sums_s16.h"

/* Not inline: the loops keep the registers that the walk over windows would take from them. */
void ek_sum_s16(int64_t *acc, const int16_t *in, size_t step, size_t count, size_t c)
{
    for (size_t i = 0; i < count; i++, in += step)
        for (size_t j = 0; j < c; j++) acc[j] += in[j];
}

void ek_max_s16(int16_t *out, const int16_t *in, size_t step, size_t count, size_t c)
{
    for (size_t i = 0; i < count; i++, in += step)
        for (size_t j = 0; j < c; j++) out[j] = in[j] > out[j] ? in[j] : out[j];
}

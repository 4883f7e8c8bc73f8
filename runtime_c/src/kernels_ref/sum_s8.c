#include "kernels_ref/reference.h"

void ek_sum_s8_ref(int32_t *acc, const int8_t *in, size_t step, size_t count, size_t c)
{
    for (size_t i = 0; i < count; i++, in += step)
        for (size_t j = 0; j < c; j++) acc[j] += in[j];
}

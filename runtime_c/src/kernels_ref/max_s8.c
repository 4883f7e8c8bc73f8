#include "kernels_ref/reference.h"

void ek_max_s8_ref(int8_t *out, const int8_t *in, size_t step, size_t count, size_t c)
{
    for (size_t i = 0; i < count; i++, in += step)
        for (size_t j = 0; j < c; j++) out[j] = in[j] > out[j] ? in[j] : out[j];
}

#include "reference.h"

void ek_lut_s8_ref(int8_t *out, const int8_t *in, size_t count, const int8_t *table)
{
    for (size_t i = 0; i < count; i++) out[i] = table[in[i] + 128];
}

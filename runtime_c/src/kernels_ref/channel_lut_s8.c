#include "reference.h"

void ek_channel_lut_s8_ref(int8_t *out, const int8_t *in, size_t rows, const ek_channel_lut_s8 *p)
{
    const int8_t *zero = p->tables + 128;
    const size_t channels = p->channels;
    for (size_t r = 0; r < rows; r++, out += channels, in += channels)
        for (size_t c = 0; c < channels; c++) out[c] = (zero + 256 * (size_t)p->index[c])[in[c]];
}

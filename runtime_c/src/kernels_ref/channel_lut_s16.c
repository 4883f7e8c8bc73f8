#include "reference.h"

#include "ops/lookup/lut_s16.h"

void ek_channel_lut_s16_ref(int16_t *out, const int16_t *in, size_t rows, const ek_channel_lut_s16 *p)
{
    const size_t channels = p->channels;
    for (; rows; rows--, out += channels, in += channels)
        for (size_t c = 0; c < channels; c++) out[c] = lut_s16(p->tables + (size_t)p->index[c] * LUT_S16_POINTS, in[c]);
}

#include "reference.h"

/* As many tables as small cores have registers for; and rows of which they serve the next channels while caches
 * still hold them. */
enum { CHANNELS = 4, ROWS = 64 };

static void four(int8_t *out, const int8_t *in, size_t step, size_t rows, const uint8_t *index, const int8_t *zero)
{
    const int8_t *t0 = zero + 256 * (size_t)index[0], *t1 = zero + 256 * (size_t)index[1];
    const int8_t *t2 = zero + 256 * (size_t)index[2], *t3 = zero + 256 * (size_t)index[3];
    for (; rows; rows--, in += step, out += step) {
        out[0] = t0[in[0]];
        out[1] = t1[in[1]];
        out[2] = t2[in[2]];
        out[3] = t3[in[3]];
    }
}

static void one(int8_t *out, const int8_t *in, size_t step, size_t rows, const int8_t *table)
{
    for (; rows; rows--, in += step, out += step) *out = table[*in];
}

void ek_channel_lut_s8_ref(int8_t *out, const int8_t *in, size_t rows, const ek_channel_lut_s8 *p)
{
    const int8_t *zero = p->tables + 128;
    const size_t channels = p->channels;
    for (size_t n; rows; rows -= n, in += n * channels, out += n * channels) {
        size_t c = 0;
        n = rows < ROWS ? rows : ROWS;
        for (; channels - c >= CHANNELS; c += CHANNELS) four(out + c, in + c, channels, n, p->index + c, zero);
        for (; c < channels; c++) one(out + c, in + c, channels, n, zero + 256 * (size_t)p->index[c]);
    }
}

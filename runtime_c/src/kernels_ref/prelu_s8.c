#include "reference.h"

void ek_prelu_s8_ref(int8_t *out, const int8_t *in, size_t rows, const ek_prelu_s8 *p)
{
    const int32_t half = 1 << (p->shift - 1);
    const uint32_t channels = p->channels;
    for (; rows; rows--, in += channels, out += channels) {
        for (uint32_t c = 0; c < channels; c++) {
            const int32_t d = in[c] - p->input_zero, m = d >= 0 ? p->multiplier : p->slopes[c];
            const int32_t q = ((d * m + half) >> p->shift) + p->zero_point;
            out[c] = (int8_t)(q < p->qmin ? p->qmin : q > p->qmax ? p->qmax : q);
        }
    }
}

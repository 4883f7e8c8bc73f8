#include "fixed_point.h"
#include "nibbles.h"
#include "reference.h"

static int32_t row_w4_channel(const int8_t *a, const uint8_t *row, const uint8_t *multiplier, const ek_w4 *w)
{
    uint32_t sum = 0;
    for (uint32_t i = 0; i < w->k;) {
        const uint32_t end = w->group && w->k - i > w->group ? i + w->group : w->k;
        int32_t part = 0;
        for (; i < end; i++) part += ek_w4_at(row, i) * a[i];
        sum += (uint32_t)part * (w->group ? *multiplier++ : 1u);
    }
    return (int32_t)sum;
}

void ek_row_w4_ref(int8_t *out, const int8_t *a, const ek_w4 *w, const ek_requant *r, uint32_t n)
{
    const uint8_t *row = w->nibbles, *multipliers = w->multipliers;
    const size_t groups = ek_w4_groups(w->k, w->group);
    for (uint32_t j = 0; j < n; j++, row += ek_w4_row(w->k), multipliers += groups) {
        const uint32_t acc = (uint32_t)r->bias[j] + (uint32_t)row_w4_channel(a, row, multipliers, w);
        out[j] = ek_requantize((int32_t)acc, r->multiplier[j], r->shift[j], r->zero_point, r->qmin, r->qmax);
    }
}

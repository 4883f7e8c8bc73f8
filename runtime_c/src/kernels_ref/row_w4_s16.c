#include "fixed_point.h"
#include "nibbles.h"
#include "reference.h"

/* Sums of so many products of nibbles fit int32. */
enum { CHUNK = 4096 };

/* sum of nibble i * a[i] over [i, end), at most CHUNK. Not static, so not inline: the loop keeps the registers. */
int32_t ek_row_w4_s16_dot(const int16_t *a, const uint8_t *row, uint32_t i, uint32_t end);

int32_t ek_row_w4_s16_dot(const int16_t *a, const uint8_t *row, uint32_t i, uint32_t end)
{
    const int8_t *both = (const int8_t *)row + i / 2;
    const int16_t *at = a + i, *const last = a + end;
    int32_t sum = 0;
    if (i % 2 && at < last) sum = (*both++ >> 4) * *at++;
    for (; last - at >= 2; at += 2, both++) sum += ek_w4_lower(*both) * at[0] + (*both >> 4) * at[1];
    return at < last ? sum + ek_w4_lower(*both) * *at : sum;
}

static int64_t row_w4_s16_channel(const int16_t *a, const uint8_t *row, const uint8_t *multiplier, const ek_w4 *w)
{
    int64_t sum = 0;
    for (uint32_t i = 0; i < w->k;) {
        const uint32_t end = w->group && w->k - i > w->group ? i + w->group : w->k;
        const int32_t m = w->group ? *multiplier++ : 1;
        for (uint32_t to; i < end; i = to) {
            to = end - i > CHUNK ? i + CHUNK : end;
            sum += (int64_t)ek_row_w4_s16_dot(a, row, i, to) * m;
        }
    }
    return sum;
}

void ek_row_w4_s16_ref(int16_t *out, const int16_t *a, const ek_w4 *w, const ek_requant16 *r, uint32_t n)
{
    const uint8_t *row = w->nibbles, *multipliers = w->multipliers;
    const size_t groups = ek_w4_groups(w->k, w->group);
    for (uint32_t j = 0; j < n; j++, row += ek_w4_row(w->k), multipliers += groups)
        out[j] = ek_requantize16(r->bias[j] + row_w4_s16_channel(a, row, multipliers, w), r->multiplier[j], r->shift[j],
                                 r->qmin, r->qmax);
}

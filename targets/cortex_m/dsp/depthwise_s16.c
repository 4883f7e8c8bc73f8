/* Four channels of two pixels at a time, on weights as they are in the file. */
#include <string.h>

#include "../requant16.h"
#include "halves.h"
#include "kernels.h"
#include "kernels_ref/reference.h"

enum { MOST_TAPS = 256 }; /* whose products fit int32 */

typedef struct plane {
    const ek_depthwise_s16 *d;
    const int16_t *const *taps;
} plane;

/* Each half of x times a half of w. */
#define MULTIPLY(name, sum, x, w) __asm__(name " %0, %1, %2, %0" : "+r"(sum) : "r"(x), "r"(w))

static inline uint32_t load(const void *from)
{
    uint32_t word;
    memcpy(&word, from, sizeof word);
    return word;
}

static inline __attribute__((always_inline)) void add_tap(int32_t sums[4], const int16_t *x, uint32_t even,
                                                          uint32_t odd)
{
    const uint32_t x01 = load(x), x23 = load(x + 2);
    MULTIPLY("smlabb", sums[0], x01, even);
    MULTIPLY("smlatb", sums[1], x01, odd);
    MULTIPLY("smlabt", sums[2], x23, even);
    MULTIPLY("smlatt", sums[3], x23, odd);
}

/* sums of channels [j, j + 4) of two pixels, the second one `step` behind the first; or of one when it is 0. */
static __attribute__((noinline)) void sum_4(int32_t sums[8], const plane *p, size_t at, size_t step, size_t j)
{
    const ek_depthwise_s16 *const d = p->d;
    const int8_t *w = (const int8_t *)d->weights + j;
    const int16_t *const *tap = p->taps, *const *const end = tap + d->taps;
    const size_t c = d->c;
    int32_t s[4] = { 0, 0, 0, 0 }, t[4] = { 0, 0, 0, 0 };
    for (; tap < end; tap++, w += c) {
        const uint32_t four = load(w), even = ek_dsp_even(four), odd = ek_dsp_odd(four);
        const int16_t *const x = *tap + at;
        add_tap(s, x, even, odd);
        add_tap(t, x + step, even, odd);
    }
    memcpy(sums, s, sizeof s);
    memcpy(sums + 4, t, sizeof t);
}

/* Requantizes channel j: sums[0] to *out and sums[4] to out[step]. */
static inline __attribute__((always_inline)) void finish(const plane *p, const int32_t *sums, int16_t *out, size_t step,
                                                         size_t j)
{
    const ek_requant16 *const r = &p->d->requant;
    const int32_t bias = r->bias[j], multiplier = r->multiplier[j], qmin = r->qmin, qmax = r->qmax;
    const uint32_t shift = r->shift[j];
    if (shift < EK_M_LEAST_SHIFT16) {
        for (int i = 0; i < 2; i++)
            out[i * step] = ek_requantize16((int64_t)bias + sums[4 * i], multiplier, shift, qmin, qmax);
        return;
    }
    const int32_t m = ek_m_multiplier16(multiplier);
    out[step] = ek_m_scale16(sums[4], bias, m, shift - EK_M_LEAST_SHIFT16, qmin, qmax);
    out[0] = ek_m_scale16(sums[0], bias, m, shift - EK_M_LEAST_SHIFT16, qmin, qmax);
}

void ek_dsp_depthwise_s16(int16_t *out, size_t out_step, const int16_t *const *taps, size_t in_step, size_t pixels,
                          const ek_depthwise_s16 *d)
{
    if (d->c < 4 || d->taps > MOST_TAPS) {
        ek_depthwise_s16_ref(out, out_step, taps, in_step, pixels, d);
        return;
    }
    const plane p = { d, taps };
    for (size_t pixel = 0, now; pixel < pixels; pixel += now) {
        now = pixels - pixel < 2 ? 1 : 2;
        const size_t in_next = (now - 1) * in_step, out_next = (now - 1) * out_step;
        for (size_t first = 0; first < d->c; first += 4) {
            const size_t j = d->c - first < 4 ? d->c - 4 : first; /* some channels may be done twice */
            int32_t sums[8];
            sum_4(sums, &p, pixel * in_step + j, in_next, j);
            for (size_t i = 0; i < 4; i++) finish(&p, sums + i, out + pixel * out_step + j + i, out_next, j + i);
        }
    }
}

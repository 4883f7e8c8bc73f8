/* Four channels of some pixels at a time, summed two by two, on weights as they are in the file. */
#include "../requant16.h"
#include "kernels.h"
#include "kernels_ref/reference.h"

enum {
    MOST_TAPS = 256, /* whose products fit int32 */
    CHANNELS = 4,
    PIXELS = 8
};

typedef struct output {
    int16_t *at;
    size_t step;
} output;

/* Known to the code below by offset. */
typedef struct window {
    const int16_t *const *taps;
    const int8_t *weights;
    const int16_t *const *taps_end;
    size_t c;
    size_t at, step; /* in bytes: behind each tap, and from a pixel to the next one */
} window;

_Static_assert(sizeof(void *) != 4 || sizeof(window) == 24, "the code below knows it");

/* Of the pixel at r2: four inputs times the weights r12, lr of channels 0 and 2, 1 and 3. */
#define PIXEL(s0, s1, s2, s3)          \
    "ldr r3, [r2]\n"                   \
    "smlabb " s0 ", r3, r12, " s0 "\n" \
    "smlatb " s1 ", r3, lr, " s1 "\n"  \
    "ldr r3, [r2, #4]\n"               \
    "smlabt " s2 ", r3, r12, " s2 "\n" \
    "smlatt " s3 ", r3, lr, " s3 "\n"

/* sums[pixel][channel]; every register is needed. */
static __attribute__((naked, noinline)) void sum_taps(__attribute__((unused)) int32_t *sums,
                                                      __attribute__((unused)) const window *w)
{
    __asm__ volatile("push {r0, r4-r11, lr}\n"
                     "ldm r1, {r0, r1, r2, r3, r4, r5}\n"
                     "push {r2, r3, r4, r5}\n"
                     "mov r4, #0\n"
                     "mov r5, #0\n"
                     "mov r6, #0\n"
                     "mov r7, #0\n"
                     "mov r8, #0\n"
                     "mov r9, #0\n"
                     "mov r10, #0\n"
                     "mov r11, #0\n"
                     "1:\n"
                     "ldr r2, [r0], #4\n"
                     "ldr r3, [sp, #8]\n"
                     "ldr r12, [r1]\n"
                     "add r2, r3\n"
                     "sxtb16 lr, r12, ror #8\n"
                     "sxtb16 r12, r12\n" PIXEL(
                         "r4", "r5", "r6", "r7") "ldr r3, [sp, #12]\n"
                                                 "add r2, r3\n" PIXEL("r8", "r9", "r10", "r11") "ldrd r3, r2, [sp]\n"
                                                                                                "add r1, r2\n"
                                                                                                "cmp r0, r3\n"
                                                                                                "bne 1b\n"
                                                                                                "add sp, #16\n"
                                                                                                "pop {r0}\n"
                                                                                                "stm r0, {r4-r11}\n"
                                                                                                "pop {r4-r11, pc}\n");
}

static __attribute__((noinline)) int16_t requantize(int32_t sum, const ek_requant16 *r, size_t j)
{
    return ek_requantize16((int64_t)r->bias[j] + sum, r->multiplier[j], r->shift[j], r->qmin, r->qmax);
}

/* Four channels from j on. */
static __attribute__((noinline)) void finish(output out, const int32_t *sums, size_t pixels, const ek_depthwise_s16 *d,
                                             size_t j)
{
    const ek_requant16 *const r = &d->requant;
    const int32_t qmin = r->qmin, qmax = r->qmax, most = INT32_MAX - (int32_t)(d->taps << 22); /* of a bias */
    for (size_t channel = j; channel < j + CHANNELS; channel++, sums++) {
        const int32_t *sum = sums, *const end = sums + pixels * CHANNELS, bias = r->bias[channel];
        int16_t *to = out.at++;
        if (!ek_m_is_usual16(r->shift[channel]) || bias > most || bias < -most) {
            for (; sum < end; sum += CHANNELS, to += out.step) *to = requantize(*sum, r, channel);
            continue;
        }
        const ek_m_ratio16 ratio = ek_m_ratio16_from(r->multiplier[channel], r->shift[channel]);
        do {
            *to = ek_m_scale16(bias + *sum, ratio, qmin, qmax);
            sum += CHANNELS;
            to += out.step;
        } while (sum < end);
    }
}

/* Up to PIXELS pixels of four channels, to sums[pixel][channel]. */
static void sum_pixels(int32_t *sums, window *w, size_t in_step, size_t pixels)
{
    for (size_t now; pixels; pixels -= now, sums += now * CHANNELS, w->at += now * in_step * sizeof(int16_t)) {
        now = pixels < 2 ? 1 : 2;
        w->step = (now - 1) * in_step * sizeof(int16_t);
        sum_taps(sums, w);
    }
}

void ek_dsp_depthwise_s16(int16_t *out, size_t out_step, const int16_t *const *taps, size_t in_step, size_t pixels,
                          const ek_depthwise_s16 *d)
{
    if (d->c < CHANNELS || d->taps > MOST_TAPS) {
        ek_depthwise_s16_ref(out, out_step, taps, in_step, pixels, d);
        return;
    }
    window w = { taps, NULL, taps + d->taps, d->c, 0, 0 };
    int32_t sums[(PIXELS + 1) * CHANNELS]; /* a single pixel is summed twice */
    for (size_t p = 0, now; p < pixels; p += now, out += now * out_step) {
        now = pixels - p < PIXELS ? pixels - p : PIXELS;
        for (size_t first = 0; first < d->c; first += CHANNELS) {
            const size_t j = d->c - first < CHANNELS ? d->c - CHANNELS : first; /* some may be done twice */
            w.weights = (const int8_t *)d->weights + j;
            w.at = (p * in_step + j) * sizeof *out;
            sum_pixels(sums, &w, in_step, now);
            finish((output){ out + j, out_step }, sums, now, d, j);
        }
    }
}

/* row_w4: 8 inputs by 4 channels at a time. Inputs are spread to 16 bits in a buffer once for many channels. A word
 * holds 8 nibbles of a channel; a mask leaves those that are 4 apart at the top of its halves, so that products are
 * 4096 times as large. */
#include <string.h>

#include "fixed_point.h"
#include "halves.h"
#include "kernels.h"
#include "kernels_ref/reference.h"

enum {
    CHANNELS = 4,
    TOGETHER = 32, /* channels to an input's spreading */
    STEP = 8,
    MOST = 256 /* of k, before sums leave 32 bits; and in the buffer */
};

/* 4 channels' nibbles times a buffer, with the next multipliers for every piece of it; the last piece may be shorter.
 * Known to the code below by offset. */
typedef struct job {
    const uint32_t *x;
    const uint8_t *w;
    size_t row; /* bytes from a channel's nibbles to the next one's */
    uint32_t mask;
    const uint8_t *multiplier;
    size_t apart, step; /* to the next channel's multiplier, and to the next piece's */
    const uint32_t *end;
    size_t piece; /* bytes of x */
    uint32_t *sums;
} job;

_Static_assert(sizeof(void *) != 4 ||
                   (offsetof(job, multiplier) == 16 && offsetof(job, end) == 28 && offsetof(job, sums) == 36),
               "");

/* r8 to r11: inputs 0 and 4, 1 and 5, 2 and 6, 3 and 7; r12: the channel's word. */
#define PRODUCTS(sum)                   \
    "and lr, r3, r12, lsl #12\n"        \
    "smlad " sum ", r8, lr, " sum "\n"  \
    "and lr, r3, r12, lsl #8\n"         \
    "smlad " sum ", r9, lr, " sum "\n"  \
    "and lr, r3, r12, lsl #4\n"         \
    "smlad " sum ", r10, lr, " sum "\n" \
    "and lr, r3, r12\n"                 \
    "smlad " sum ", r11, lr, " sum "\n"
#define SCALE(sum, multiplier)    \
    "asr " sum ", " sum ", #12\n" \
    "mul " sum ", " sum ", " multiplier "\n"

/* clang-format off */

static __attribute__((naked, noinline)) void multiply(__attribute__((unused)) job *j)
{
    __asm__ volatile("push {r4-r11, lr}\n"
                     "push {r0, r1}\n" /* r1: room for the end of a piece */
                     "mov r8, r0\n"
                     "ldm r0, {r0-r3}\n"
                     "1:\n"
                     "ldrd r9, r10, [r8, #28]\n"
                     "add r10, r0\n"
                     "cmp r10, r9\n"
                     "it hi\n"
                     "movhi r10, r9\n"
                     "str r10, [sp, #4]\n"
                     "movs r4, #0\n"
                     "movs r5, #0\n"
                     "movs r6, #0\n"
                     "movs r7, #0\n"
                     "2:\n"
                     "ldm r0!, {r8-r11}\n"
                     "ldr r12, [r1, r2]\n"
                     PRODUCTS("r5")
                     "ldr r12, [r1, r2, lsl #1]\n"
                     PRODUCTS("r6")
                     "add r12, r2, r2, lsl #1\n"
                     "ldr r12, [r1, r12]\n"
                     PRODUCTS("r7")
                     "ldr r12, [r1], #4\n"
                     PRODUCTS("r4")
                     "ldr r12, [sp, #4]\n"
                     "cmp r0, r12\n"
                     "bne 2b\n"
                     "ldr r8, [sp]\n"
                     "ldrd r9, r10, [r8, #16]\n"
                     "ldrb r11, [r9, r10]\n"
                     "ldrb r12, [r9, r10, lsl #1]\n"
                     "add r10, r10, r10, lsl #1\n"
                     "ldrb r10, [r9, r10]\n"
                     "ldrb lr, [r9]\n"
                     SCALE("r4", "lr")
                     SCALE("r5", "r11")
                     SCALE("r6", "r12")
                     SCALE("r7", "r10")
                     "ldr r10, [r8, #24]\n"
                     "add r9, r10\n"
                     "str r9, [r8, #16]\n"
                     "ldr lr, [r8, #36]\n"
                     "ldm lr, {r9-r12}\n"
                     "add r4, r9\n"
                     "add r5, r10\n"
                     "add r6, r11\n"
                     "add r7, r12\n"
                     "stm lr, {r4-r7}\n"
                     "ldr r9, [r8, #28]\n"
                     "cmp r0, r9\n"
                     "bne 1b\n"
                     "add sp, #8\n"
                     "pop {r4-r11, pc}\n");
}

/* clang-format on */

/* Returns the end of x. */
static uint32_t *spread(uint32_t *x, const int8_t *a, uint32_t steps)
{
    for (; steps; steps--, a += STEP, x += STEP / 2) {
        uint32_t low, high;
        memcpy(&low, a, 4);
        memcpy(&high, a + 4, 4);
        const uint32_t first = (low & 0xffff) | high << 16, last = low >> 16 | (high & 0xffff0000);
        x[0] = ek_dsp_even(first);
        x[1] = ek_dsp_odd(first);
        x[2] = ek_dsp_even(last);
        x[3] = ek_dsp_odd(last);
    }
    return x;
}

/* `channels` of them; of the last ones, fewer than 4, each is multiplied four times. */
static void multiply_channels(job *j, uint32_t *sums, uint32_t channels, size_t row, size_t apart)
{
    const uint8_t *multiplier = j->multiplier;
    for (uint32_t c = 0, now; c < channels; c += now, j->w += now * row, multiplier += now * apart) {
        uint32_t four[CHANNELS] = { sums[c] };
        now = channels - c < CHANNELS ? 1 : CHANNELS;
        j->row = now == 1 ? 0 : row;
        j->apart = now == 1 ? 0 : apart;
        j->multiplier = multiplier;
        j->sums = now == 1 ? four : sums + c;
        multiply(j);
        if (now == 1) sums[c] = four[0];
    }
}

/* The last inputs, fewer than a step has. */
static uint32_t product(const int8_t *a, const uint8_t *row, uint32_t count)
{
    int32_t sum = 0;
    for (uint32_t i = 0; i < count; i++) sum += (((row[i / 2] >> i % 2 * 4 & 15) ^ 8) - 8) * a[i];
    return (uint32_t)sum;
}

static void multiply_tail(uint32_t *sums, const int8_t *a, const ek_w4 *w, uint32_t first, uint32_t channels,
                          const uint8_t *multiplier, size_t apart)
{
    const uint32_t whole = w->k / STEP * STEP;
    const uint8_t *nibbles = w->nibbles + first * (size_t)(w->k / 2 + w->k % 2) + whole / 2;
    for (uint32_t c = 0; c < channels; c++, nibbles += w->k / 2 + w->k % 2, multiplier += apart)
        sums[c] += product(a + whole, nibbles, w->k - whole) * *multiplier;
}

void ek_dsp_row_w4(int8_t *out, const int8_t *a, const ek_w4 *w, const ek_requant *r, uint32_t n)
{
    static const uint8_t one = 1;
    const uint32_t k = w->k, group = w->group, piece = group ? group : MOST, groups = group ? (k - 1) / group + 1 : 0;
    const size_t row = k / 2 + k % 2;
    if (group % STEP || group > MOST) { /* groups that begin within words, or are long */
        ek_row_w4_ref(out, a, w, r, n);
        return;
    }
    const uint32_t window = MOST / piece * piece;
    uint32_t x[MOST / 2], sums[TOGETHER];
    job j;
    j.x = x;
    j.mask = 0xf000f000;
    j.step = group != 0;
    j.piece = piece * 2;
    for (uint32_t first = 0, channels; first < n; first += channels) {
        const uint8_t *multiplier = group ? w->multipliers + (size_t)first * groups : &one;
        channels = n - first < TOGETHER ? n - first : TOGETHER;
        memcpy(sums, r->bias + first, channels * sizeof *sums);
        for (uint32_t i = 0, now; i < k / STEP * STEP; i += now) {
            now = k - i < window ? (k - i) / STEP * STEP : window;
            j.w = w->nibbles + first * row + i / 2;
            j.multiplier = group ? multiplier + i / group : &one;
            j.end = spread(x, a + i, now / STEP);
            multiply_channels(&j, sums, channels, row, groups);
        }
        if (k % STEP) multiply_tail(sums, a, w, first, channels, group ? multiplier + groups - 1 : &one, groups);
        for (uint32_t c = 0; c < channels; c++)
            out[first + c] = ek_requantize((int32_t)sums[c], r->multiplier[first + c], r->shift[first + c],
                                           r->zero_point, r->qmin, r->qmax);
    }
}

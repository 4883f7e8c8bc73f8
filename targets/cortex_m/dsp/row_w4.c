/* row_w4: 8 inputs by 4 channels at a time. A word holds 8 nibbles of a channel; a mask leaves those that are 4
 * apart at the top of its halves, so that products are 4096 times as large. */
#include "fixed_point.h"
#include "kernels.h"
#include "kernels_ref/reference.h"

enum { CHANNELS = 4, STEP = 8, SCALE_BITS = 12, MOST = 256 /* of k, before sums leave 32 bits */ };

/* Known to the code below by offset. */
typedef struct job {
    const int8_t *a;
    const uint8_t *w;
    size_t row; /* bytes from a channel's nibbles to the next one's */
    uint32_t mask;
    int32_t sums[CHANNELS];
    const int8_t *end; /* behind the last of at least one step's inputs */
} job;

_Static_assert(sizeof(void *) != 4 || (offsetof(job, sums) == 16 && offsetof(job, end) == 32), "");

/* r8, r10, r11, r9: inputs 0 and 4, 1 and 5, 2 and 6, 3 and 7; r12: the channel's word. */
#define PRODUCTS(sum)                   \
    "and lr, r3, r12, lsl #12\n"        \
    "smlad " sum ", r8, lr, " sum "\n"  \
    "and lr, r3, r12, lsl #8\n"         \
    "smlad " sum ", r10, lr, " sum "\n" \
    "and lr, r3, r12, lsl #4\n"         \
    "smlad " sum ", r11, lr, " sum "\n" \
    "and lr, r3, r12\n"                 \
    "smlad " sum ", r9, lr, " sum "\n"

static __attribute__((naked, noinline)) void multiply(job *j)
{
    (void)j;
    __asm__ volatile(
        "push {r4-r11, lr}\n"
        "ldr r1, [r0, #32]\n"
        "push {r0, r1}\n"
        "ldm r0, {r0-r7}\n"
        "1:\n"
        "ldr r8, [r0], #4\n"
        "ldr r9, [r0], #4\n"
        "pkhbt r10, r8, r9, lsl #16\n"
        "pkhtb r9, r9, r8, asr #16\n"
        "sxtb16 r8, r10\n"
        "sxtb16 r10, r10, ror #8\n"
        "sxtb16 r11, r9\n"
        "sxtb16 r9, r9, ror #8\n"
        "ldr r12, [r1, r2]\n" PRODUCTS("r5") "ldr r12, [r1, r2, lsl #1]\n" PRODUCTS(
            "r6") "add r12, r2, r2, lsl #1\n"
                  "ldr r12, [r1, r12]\n" PRODUCTS("r7") "ldr r12, [r1], #4\n" PRODUCTS("r4") "ldr r12, [sp, #4]\n"
                                                                                             "cmp r0, r12\n"
                                                                                             "bne 1b\n"
                                                                                             "pop {r0, r1}\n"
                                                                                             "adds r0, #16\n"
                                                                                             "stm r0!, {r4-r7}\n"
                                                                                             "pop {r4-r11, pc}\n");
}

static int32_t nibble_at(const uint8_t *row, uint32_t i)
{
    return ((row[i / 2] >> i % 2 * 4 & 15) ^ 8) - 8;
}

/* sums[c] += multiplier[c * step] * (`count` inputs * channel c), for `channels` of them, 4 or 1. */
static void add_products(uint32_t *sums, job *j, uint32_t count, uint32_t channels, const uint8_t *multiplier,
                         size_t step)
{
    const uint32_t whole = count / STEP * STEP;
    const int8_t *const a = j->a;
    const uint8_t *nibbles = j->w;
    j->end = a + whole;
    for (uint32_t c = 0; c < CHANNELS; c++) j->sums[c] = 0;
    if (whole) multiply(j);
    for (uint32_t c = 0; c < channels; c++, nibbles += j->row, multiplier += step) {
        int32_t sum = j->sums[c] >> SCALE_BITS;
        for (uint32_t i = whole; i < count; i++) sum += nibble_at(nibbles, i) * a[i];
        sums[c] += (uint32_t)sum * *multiplier;
    }
}

void ek_dsp_row_w4(int8_t *out, const int8_t *a, const ek_w4 *w, const ek_requant *r, uint32_t n)
{
    static const uint8_t one = 1;
    const uint32_t k = w->k, group = w->group, most = group ? group : MOST, groups = group ? (k - 1) / group + 1 : 0;
    const size_t row = k / 2 + k % 2;
    if (group % STEP || group > MOST) { /* groups that begin within words, or are long */
        ek_row_w4_ref(out, a, w, r, n);
        return;
    }
    job part;
    part.mask = 0xf000f000;
    for (uint32_t j = 0, channels; j < n; j += channels) {
        const uint8_t *multiplier = group ? w->multipliers + (size_t)j * groups : &one;
        uint32_t sums[CHANNELS];
        channels = n - j < CHANNELS ? 1 : CHANNELS;
        part.row = channels == CHANNELS ? row : 0;
        for (uint32_t c = 0; c < channels; c++) sums[c] = (uint32_t)r->bias[j + c];
        for (uint32_t i = 0, now; i < k; i += now, multiplier += group != 0) {
            now = k - i < most ? k - i : most;
            part.a = a + i;
            part.w = w->nibbles + j * row + i / 2;
            add_products(sums, &part, now, channels, multiplier, groups);
        }
        for (uint32_t c = j; c < j + channels; c++)
            out[c] =
                ek_requantize((int32_t)sums[c - j], r->multiplier[c], r->shift[c], r->zero_point, r->qmin, r->qmax);
    }
}

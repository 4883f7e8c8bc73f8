/* row_w4 for int16: 8 inputs of a channel at a time. Bytes of nibbles become pairs of halves that are 4 inputs apart;
 * so do the inputs, in a buffer, once for many channels. */
#include <string.h>

#include "fixed_point.h"
#include "halves.h"
#include "kernels.h"
#include "kernels_ref/reference.h"
#include "nibbles.h"

enum {
    STEP = 8,
    TOGETHER = 32, /* channels to a window of inputs */
    WINDOW = 256   /* inputs in the buffer; sums of so many products with nibbles fit int32 */
};

/* Inputs 0 and 4, 1 and 5, 2 and 6, 3 and 7 of each step. */
static void spread(uint32_t *x, const int16_t *a, uint32_t count)
{
    for (; count >= STEP; count -= STEP, a += STEP)
        for (uint32_t i = 0; i < 4; i++) *x++ = (uint16_t)a[i] | (uint32_t)(uint16_t)a[i + 4] << 16;
}

/* Nibbles at the bottom of the bytes, as signed bytes. */
static inline uint32_t signed_bytes(uint32_t nibbles)
{
    uint32_t r;
    __asm__("ssub8 %0, %1, %2" : "=r"(r) : "r"((nibbles & 0x0f0f0f0f) ^ 0x08080808), "r"(0x08080808));
    return r;
}

static inline int32_t add_products(int32_t sum, uint32_t x, uint32_t w)
{
    int32_t r;
    __asm__("smlad %0, %1, %2, %3" : "=r"(r) : "r"(x), "r"(w), "r"(sum));
    return r;
}

static __attribute__((noinline)) int32_t dot(const uint32_t *x, const uint8_t *row, uint32_t steps)
{
    int32_t sum = 0;
    for (const uint32_t *const end = x + (size_t)steps * 4; x != end; x += 4, row += 4) {
        uint32_t eight;
        memcpy(&eight, row, 4);
        const uint32_t even = signed_bytes(eight), odd = signed_bytes(eight >> 4);
        sum = add_products(sum, x[0], ek_dsp_even(even));
        sum = add_products(sum, x[1], ek_dsp_even(odd));
        sum = add_products(sum, x[2], ek_dsp_odd(even));
        sum = add_products(sum, x[3], ek_dsp_odd(odd));
    }
    return sum;
}

/* The last inputs, fewer than a step has. */
static int32_t tail(const int16_t *a, const uint8_t *row, uint32_t count)
{
    int32_t sum = 0;
    for (uint32_t i = 0; i < count; i++) sum += ek_w4_at(row, i) * a[i];
    return sum;
}

/* A window of inputs, from i on, for some channels. */
static void multiply(int64_t *sums, uint32_t channels, const int16_t *a, const ek_w4 *w, uint32_t first, uint32_t i,
                     uint32_t count)
{
    const uint32_t piece = w->group ? w->group : WINDOW;
    const size_t groups = ek_w4_groups(w->k, w->group);
    uint32_t x[WINDOW / 2];
    spread(x, a + i, count);
    for (uint32_t c = 0; c < channels; c++) {
        const uint8_t *row = w->nibbles + (first + c) * ek_w4_row(w->k) + i / 2;
        const uint8_t *multiplier = w->multipliers + (first + c) * groups + i / piece;
        for (uint32_t at = 0, now; at < count; at += now) {
            now = count - at < piece ? count - at : piece;
            const uint32_t whole = at + now / STEP * STEP;
            int32_t sum = dot(x + at / 2, row + at / 2, now / STEP);
            if (now % STEP) sum += tail(a + i + whole, row + whole / 2, now % STEP);
            sums[c] += (int64_t)sum * (w->group ? *multiplier++ : 1);
        }
    }
}

void ek_dsp_row_w4_s16(int16_t *out, const int16_t *a, const ek_w4 *w, const ek_requant16 *r, uint32_t n)
{
    const uint32_t k = w->k, group = w->group;
    if (group % STEP || group > WINDOW) { /* groups that begin within steps, or are long */
        ek_row_w4_s16_ref(out, a, w, r, n);
        return;
    }
    const uint32_t window = group ? WINDOW / group * group : WINDOW;
    for (uint32_t first = 0, channels; first < n; first += channels) {
        int64_t sums[TOGETHER];
        channels = n - first < TOGETHER ? n - first : TOGETHER;
        for (uint32_t c = 0; c < channels; c++) sums[c] = r->bias[first + c];
        for (uint32_t i = 0; i < k; i += window)
            multiply(sums, channels, a, w, first, i, k - i < window ? k - i : window);
        for (uint32_t c = 0; c < channels; c++)
            out[first + c] = ek_requantize16(sums[c], r->multiplier[first + c], r->shift[first + c], r->qmin, r->qmax);
    }
}

#include <string.h>

#include "edgekit/kernels.h"
#include "fixed_point.h"
#include "kernels.h"

static inline uint32_t load(const int8_t *p)
{
    uint32_t four;
    memcpy(&four, p, 4);
    return four;
}

static inline int32_t byte(uint32_t four, int i)
{
    return (int8_t)(four >> 8 * i);
}

/* out = a where a >= b, otherwise b, in each byte */
static inline uint32_t most(uint32_t a, uint32_t b)
{
    uint32_t r;
    __asm__("ssub8 %0, %1, %2\n sel %0, %1, %2" : "=&r"(r) : "r"(a), "r"(b));
    return r;
}

static inline uint32_t least(uint32_t a, uint32_t b)
{
    uint32_t r;
    __asm__("ssub8 %0, %1, %2\n sel %0, %2, %1" : "=&r"(r) : "r"(a), "r"(b));
    return r;
}

static inline int32_t saturated(int32_t v)
{
    __asm__("ssat %0, #8, %1" : "=r"(v) : "r"(v));
    return v;
}

/* The low bytes of four numbers. */
static inline uint32_t joined(int32_t v0, int32_t v1, int32_t v2, int32_t v3)
{
    uint32_t four = (uint32_t)v0;
    __asm__("bfi %0, %1, #8, #24\n bfi %0, %2, #16, #16\n bfi %0, %3, #24, #8"
            : "+&r"(four)
            : "r"(v1), "r"(v2), "r"(v3));
    return four;
}

void ek_dsp_add_s8(int8_t *out, const int8_t *a, const int8_t *b, size_t b_step, size_t count, const ek_add_s8 *p)
{
    const int32_t ma = p->a_multiplier, mb = p->b_multiplier, bias = p->bias, shift = p->shift;
    const uint32_t lo = (uint8_t)p->qmin * 0x01010101u, hi = (uint8_t)p->qmax * 0x01010101u;
    uint32_t y = (uint8_t)*b * 0x01010101u;
    for (; count >= 4; count -= 4, a += 4, out += 4) {
        const uint32_t x = load(a);
        if (b_step) {
            y = load(b);
            b += 4;
        }
        const int32_t v0 = saturated((byte(x, 0) * ma + byte(y, 0) * mb + bias) >> shift);
        const int32_t v1 = saturated((byte(x, 1) * ma + byte(y, 1) * mb + bias) >> shift);
        const int32_t v2 = saturated((byte(x, 2) * ma + byte(y, 2) * mb + bias) >> shift);
        const int32_t v3 = saturated((byte(x, 3) * ma + byte(y, 3) * mb + bias) >> shift);
        uint32_t four = joined(v0, v1, v2, v3);
        four = least(most(four, lo), hi);
        memcpy(out, &four, 4);
    }
    for (; count; count--, b += b_step)
        *out++ = (int8_t)ek_clamp((*a++ * ma + *b * mb + bias) >> shift, p->qmin, p->qmax);
}

enum { ROWS = 255 }; /* whose sums fit 16 bits */

void ek_dsp_sum_s8(int32_t *acc, const int8_t *in, size_t step, size_t count, size_t c)
{
    for (; c >= 4; c -= 4, in += 4, acc += 4) {
        const int8_t *x = in;
        for (size_t left = count, rows; left; left -= rows) {
            uint32_t even = 0, odd = 0;
            rows = left < ROWS ? left : ROWS;
            for (size_t i = 0; i < rows; i++, x += step)
                __asm__("sxtab16 %0, %0, %2\n sxtab16 %1, %1, %2, ror #8" : "+r"(even), "+&r"(odd) : "r"(load(x)));
            acc[0] += (int16_t)even;
            acc[1] += (int16_t)odd;
            acc[2] += (int32_t)even >> 16;
            acc[3] += (int32_t)odd >> 16;
        }
    }
    for (size_t j = 0; j < c; j++)
        for (size_t i = 0; i < count; i++) acc[j] += in[i * step + j];
}

void ek_dsp_max_s8(int8_t *out, const int8_t *in, size_t step, size_t count, size_t c)
{
    for (; c >= 4; c -= 4, in += 4, out += 4) {
        uint32_t four = load(out);
        for (size_t i = 0; i < count; i++) four = most(four, load(in + i * step));
        memcpy(out, &four, 4);
    }
    for (size_t j = 0; j < c; j++)
        for (size_t i = 0; i < count; i++) out[j] = in[i * step + j] > out[j] ? in[i * step + j] : out[j];
}

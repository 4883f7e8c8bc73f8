/* Requantization where no left shift is asked for, as is usual: SMMLAR rounds, and adds what the
 * right shift rounds with and the zero point, in one instruction. |2 * acc| < 2^31 by contract, and
 * shifts up to 22 leave room for the zero point, so that nothing wraps. */
#ifndef EK_CORTEX_M_DSP_REQUANT_H
#define EK_CORTEX_M_DSP_REQUANT_H

#include <stdbool.h>
#include <string.h>

#include "edgekit/kernels.h"
#include "fixed_point.h"
#include "shift.h"

typedef struct ek_dsp_requant {
    const ek_requant *q;
    int32_t offset; /* 2 * zero_point + 1: see ek_dsp_add */
    bool fast;      /* all shifts fit, and the clamp is int8's */
} ek_dsp_requant;

typedef struct ek_dsp_scale {
    int32_t multiplier, add, shift;
} ek_dsp_scale;

static inline uint32_t ek_dsp_even(uint32_t four)
{
    uint32_t r;
    __asm__("sxtb16 %0, %1" : "=r"(r) : "r"(four));
    return r;
}

static inline uint32_t ek_dsp_odd(uint32_t four)
{
    uint32_t r;
    __asm__("sxtb16 %0, %1, ror #8" : "=r"(r) : "r"(four));
    return r;
}

/* sum + both halves of x */
static inline int32_t ek_dsp_halves(uint32_t x, int32_t sum)
{
    int32_t r;
    __asm__("smlad %0, %1, %2, %3" : "=r"(r) : "r"(x), "r"(0x00010001), "r"(sum));
    return r;
}

/* Non-zero where a shift of the four is outside [-EK_DSP_MOST_SHIFT, 0]. */
static inline uint32_t ek_dsp_odd_shifts(uint32_t four)
{
    uint32_t r;
    __asm__("ssub8 %0, %1, %2\n uqsub8 %0, %0, %3" : "=&r"(r) : "r"(0), "r"(four), "r"(EK_DSP_MOST_SHIFT * 0x01010101u));
    return r;
}

static inline ek_dsp_requant ek_dsp_requant_of(const ek_requant *q, size_t n)
{
    const int8_t *shift = q->shift;
    uint32_t odd = q->qmin != INT8_MIN || q->qmax != INT8_MAX, four;
    for (; n >= 4; n -= 4, shift += 4) {
        memcpy(&four, shift, 4);
        odd |= ek_dsp_odd_shifts(four);
    }
    for (; n; n--, shift++) odd |= *shift > 0 || *shift < -EK_DSP_MOST_SHIFT;
    return (ek_dsp_requant){ .q = q, .offset = 2 * q->zero_point + 1, .fast = !odd };
}

static inline ek_dsp_scale ek_dsp_scale_of(const ek_dsp_requant *r, size_t j)
{
    const int32_t shift = r->q->shift[j];
    return (ek_dsp_scale){
        .multiplier = r->q->multiplier[j],
        .add = r->fast ? ek_dsp_add(r->q->zero_point, -shift) : 0,
        .shift = r->fast ? -shift : shift,
    };
}

static inline int8_t ek_dsp_requantize(int32_t acc, const ek_dsp_scale *s, const ek_dsp_requant *r)
{
    int32_t v;
    if (!r->fast) return ek_requantize(acc, s->multiplier, s->shift, r->q->zero_point, r->q->qmin, r->q->qmax);
    __asm__("smmlar %0, %1, %2, %3\n asr %0, %0, %4\n ssat %0, #8, %0"
            : "=&r"(v)
            : "r"((uint32_t)acc << 1), "r"(s->multiplier), "r"(s->add), "r"(s->shift));
    return (int8_t)v;
}

#endif

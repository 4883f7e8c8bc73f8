/* Instructions on the parts of a word that C has no words for. */
#ifndef EK_CORTEX_M_DSP_HALVES_H
#define EK_CORTEX_M_DSP_HALVES_H

#include <stdint.h>

/* Bytes 0 and 2, or 1 and 3, as signed halves. */
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

/* sum + the lower halves' product + the higher ones' */
static inline int32_t ek_dsp_products(uint32_t x, uint32_t y, int32_t sum)
{
    int32_t r;
    __asm__("smlad %0, %1, %2, %3" : "=r"(r) : "r"(x), "r"(y), "r"(sum));
    return r;
}

/* The lower halves of a and b; the higher ones. */
static inline uint32_t ek_dsp_lower(uint32_t a, uint32_t b)
{
    uint32_t r;
    __asm__("pkhbt %0, %1, %2, lsl #16" : "=r"(r) : "r"(a), "r"(b));
    return r;
}

static inline uint32_t ek_dsp_higher(uint32_t a, uint32_t b)
{
    uint32_t r;
    __asm__("pkhtb %0, %1, %2, asr #16" : "=r"(r) : "r"(b), "r"(a));
    return r;
}

/* Each byte negated; -128 stays. */
static inline uint32_t ek_dsp_negated(uint32_t four)
{
    uint32_t r;
    __asm__("ssub8 %0, %1, %2" : "=r"(r) : "r"(0), "r"(four));
    return r;
}

#endif

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

/* Each byte negated; -128 stays. */
static inline uint32_t ek_dsp_negated(uint32_t four)
{
    uint32_t r;
    __asm__("ssub8 %0, %1, %2" : "=r"(r) : "r"(0), "r"(four));
    return r;
}

#endif

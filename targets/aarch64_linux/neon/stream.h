/* Loads that move their pointer on. AArch64 does both in one instruction, which GCC does not find by
 * itself once a loop has several pointers. */
#ifndef EK_NEON_STREAM_H
#define EK_NEON_STREAM_H

#include "requant.h"

/* The bytes that an asm statement reads through p. */
#define EK_READS(p, bytes) "Q"(*(const int8_t (*)[bytes])(p))

EK_INLINE int8x16_t ek_next16(const int8_t **p)
{
#ifdef __aarch64__
    int8x16_t v;
    __asm__("ldr %q0, [%1], #16" : "=w"(v), "+r"(*p) : EK_READS(*p, 16));
#else
    const int8x16_t v = vld1q_s8(*p);
    *p += 16;
#endif
    return v;
}

EK_INLINE int8x8_t ek_next8(const int8_t **p)
{
#ifdef __aarch64__
    int8x8_t v;
    __asm__("ldr %d0, [%1], #8" : "=w"(v), "+r"(*p) : EK_READS(*p, 8));
#else
    const int8x8_t v = vld1_s8(*p);
    *p += 8;
#endif
    return v;
}

EK_INLINE int16x8_t ek_next8_s16(const int16_t **p)
{
#ifdef __aarch64__
    int16x8_t v;
    __asm__("ldr %q0, [%1], #16" : "=w"(v), "+r"(*p) : EK_READS(*p, 16));
#else
    const int16x8_t v = vld1q_s16(*p);
    *p += 8;
#endif
    return v;
}

#ifdef __aarch64__
/* 8 bytes, twice. */
EK_INLINE int8x16_t ek_next8_twice(const int8_t **p)
{
    int8x16_t v;
    __asm__("ld1r {%0.2d}, [%1], #8" : "=w"(v), "+r"(*p) : EK_READS(*p, 8));
    return v;
}

/* 8 bytes each from two places. */
EK_INLINE int8x16_t ek_next8_of_two(const int8_t **p, const int8_t **q)
{
    int8x16_t v;
    __asm__("ldr %d0, [%1], #8" : "=w"(v), "+r"(*p) : EK_READS(*p, 8));
    __asm__("ld1 {%0.d}[1], [%1], #8" : "+w"(v), "+r"(*q) : EK_READS(*q, 8));
    return v;
}
#endif

EK_INLINE int8x16x4_t ek_next64(const int8_t **p)
{
#if defined(__aarch64__) && !defined(__clang__) /* clang finds it, and has no name for such operands */
    int8x16x4_t v;
    __asm__("ld1 {%S0.16b - %V0.16b}, [%1], #64" : "=w"(v), "+r"(*p) : EK_READS(*p, 64));
#elif defined(__aarch64__)
    const int8x16x4_t v = vld1q_s8_x4(*p);
    *p += 64;
#else
    const int8x16x4_t v = { { vld1q_s8(*p), vld1q_s8(*p + 16), vld1q_s8(*p + 32), vld1q_s8(*p + 48) } };
    *p += 64;
#endif
    return v;
}

#endif

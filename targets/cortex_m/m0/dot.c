#include "kernels.h"

/* clang-format off */

/* The four sums at r3 go to the high registers, which can be added to but not multiplied, and back again. */
#define ENTER                  \
    ".syntax unified\n"        \
    "push {r3-r7, lr}\n"       \
    "mov r4, r8\n"             \
    "mov r5, r9\n"             \
    "mov r6, r10\n"            \
    "mov r7, r11\n"            \
    "push {r4-r7}\n"           \
    "ldm r3!, {r4-r7}\n"       \
    "mov r8, r4\n"             \
    "mov r9, r5\n"             \
    "mov r10, r6\n"            \
    "mov r11, r7\n"
#define LEAVE                  \
    "ldr r0, [sp, #16]\n"      \
    "mov r4, r8\n"             \
    "mov r5, r9\n"             \
    "mov r6, r10\n"            \
    "mov r7, r11\n"            \
    "stm r0!, {r4-r7}\n"       \
    "pop {r4-r7}\n"            \
    "mov r8, r4\n"             \
    "mov r9, r5\n"             \
    "mov r10, r6\n"            \
    "mov r11, r7\n"            \
    "pop {r3-r7, pc}\n"

#define ONE(i, w0, w1, w2, w3) \
    "ldrb r2, [r0, #" i "]\n"  \
    "ldrb r3, [r1, #" w0 "]\n" \
    "ldrb r4, [r1, #" w1 "]\n" \
    "ldrb r5, [r1, #" w2 "]\n" \
    "ldrb r6, [r1, #" w3 "]\n" \
    "sxtb r2, r2\n"            \
    "muls r3, r2, r3\n"        \
    "muls r4, r2, r4\n"        \
    "muls r5, r2, r5\n"        \
    "muls r6, r2, r6\n"        \
    "add r8, r3\n"             \
    "add r9, r4\n"             \
    "add r10, r5\n"            \
    "add r11, r6\n"

__attribute__((naked)) void ek_m0_dot_4(__attribute__((unused)) const int8_t *a,
                                        __attribute__((unused)) const uint8_t *w,
                                        __attribute__((unused)) size_t k,
                                        __attribute__((unused)) int32_t *sums)
{
    __asm__ volatile(ENTER
                     "add r2, r0\n"
                     "mov r12, r2\n" /* the end of a */
                     "subs r2, #8\n"
                     "mov lr, r2\n" /* the last start of eight */
                     "b 2f\n"
                     "1:\n"
                     ONE("0", "0", "1", "2", "3")
                     ONE("1", "4", "5", "6", "7")
                     ONE("2", "8", "9", "10", "11")
                     ONE("3", "12", "13", "14", "15")
                     ONE("4", "16", "17", "18", "19")
                     ONE("5", "20", "21", "22", "23")
                     ONE("6", "24", "25", "26", "27")
                     ONE("7", "28", "29", "30", "31")
                     "adds r0, #8\n"
                     "adds r1, #32\n"
                     "2:\n"
                     "cmp r0, lr\n"
                     "bls 1b\n"
                     "b 4f\n"
                     "3:\n"
                     ONE("0", "0", "1", "2", "3")
                     "adds r0, #1\n"
                     "adds r1, #4\n"
                     "4:\n"
                     "cmp r0, r12\n"
                     "bne 3b\n"
                     LEAVE);
}

#define TAP(j, sum)           \
    "ldrb r3, [r2, #" j "]\n" \
    "ldrb r4, [r1, #" j "]\n" \
    "sxtb r3, r3\n"           \
    "sxtb r4, r4\n"           \
    "muls r3, r4, r3\n"       \
    "add " sum ", r3\n"

__attribute__((naked)) void ek_m0_taps_4(__attribute__((unused)) const int8_t *const *taps,
                                         __attribute__((unused)) const int8_t *w,
                                         __attribute__((unused)) const ek_m0_taps *t,
                                         __attribute__((unused)) int32_t *sums)
{
    __asm__ volatile(ENTER
                     "ldm r2!, {r4-r6}\n" /* offset, c, end */
                     "mov r7, r4\n"
                     "mov lr, r5\n"
                     "mov r12, r6\n"
                     "1:\n"
                     "ldm r0!, {r2}\n"
                     "add r2, r7\n"
                     TAP("0", "r8")
                     TAP("1", "r9")
                     TAP("2", "r10")
                     TAP("3", "r11")
                     "add r1, lr\n"
                     "cmp r0, r12\n"
                     "bne 1b\n"
                     LEAVE);
}

/* clang-format on */

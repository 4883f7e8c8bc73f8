#include "gemm_s16.h"

_Static_assert(sizeof(void *) != 4 || (offsetof(ek_dsp_job16, enter) == 8 && offsetof(ek_dsp_job16, w) == 16 &&
                                       offsetof(ek_dsp_job16, pairs) == 24),
               "the code below knows these");

/* r0 inputs, r1 weights; r4-r6 sums for a, r7-r9 sums for b, of three rows. */
#define PRODUCTS(weights)                       \
    "ldm r0!, {r10, r11, r12}\n"                \
    "sxtb16 lr, " weights "\n"                  \
    "smlad r4, r10, lr, r4\n"                   \
    "smlad r5, r11, lr, r5\n"                   \
    "smlad r6, r12, lr, r6\n"                   \
    "sxtb16 " weights ", " weights ", ror #8\n" \
    "smlad r7, r10, " weights ", r7\n"          \
    "smlad r8, r11, " weights ", r8\n"          \
    "smlad r9, r12, " weights ", r9\n"

/* EK_DSP_STEP_BYTES16 of code: every instruction has 4 bytes. */
#define STEP "ldrd r2, r3, [r1], #8\n" PRODUCTS("r2") PRODUCTS("r3")

__attribute__((naked)) void ek_dsp_pairs16_3(__attribute__((unused)) ek_dsp_job16 *job)
{
    __asm__ volatile("push {r4-r11, lr}\n"
                     "ldr r1, [r0, #4]\n"
                     "push {r0, r1}\n"
                     "1:\n" /* a pair */
                     "ldrd r12, r3, [r0, #8]\n"
                     "ldr r1, [r0, #16]\n"
                     "ldr r0, [r0]\n"
                     "ldm r3, {r4-r9}\n"
                     "bx r12\n"
                     ".balign 4\n"
                     ".global ek_dsp_steps16\n"
                     "ek_dsp_steps16:\n" STEP STEP STEP STEP "ldr lr, [sp, #4]\n"
                     "cmp r0, lr\n"
                     "bne ek_dsp_steps16\n"
                     "ldr r0, [sp]\n"
                     "ldr r3, [r0, #12]\n"
                     "ldrd r2, r12, [r0, #20]\n"
                     "stm r3!, {r4-r9}\n"
                     "add r1, r2\n"
                     "strd r3, r1, [r0, #12]\n"
                     "subs r12, #1\n"
                     "str r12, [r0, #24]\n"
                     "bne 1b\n"
                     "add sp, #8\n"
                     "pop {r4-r11, pc}\n");
}

#define PRODUCTS_1(x, weights)                  \
    "sxtb16 lr, " weights "\n"                  \
    "sxtb16 " weights ", " weights ", ror #8\n" \
    "smlad r4, " x ", lr, r4\n"                 \
    "smlad r5, " x ", " weights ", r5\n"

__attribute__((naked)) void ek_dsp_pairs16_1(__attribute__((unused)) ek_dsp_job16 *job)
{
    __asm__ volatile("push {r0, r4-r11, lr}\n"
                     "ldr r12, [r0, #4]\n"
                     "1:\n" /* a pair */
                     "ldrd r3, r1, [r0, #12]\n"
                     "ldr r0, [r0]\n"
                     "ldrd r4, r5, [r3]\n"
                     "2:\n"
                     "ldm r0!, {r6, r7, r8, r9}\n"
                     "ldm r1!, {r2, r3, r10, r11}\n" PRODUCTS_1("r6", "r2") PRODUCTS_1("r7", "r3")
                         PRODUCTS_1("r8", "r10") PRODUCTS_1("r9", "r11") "cmp r0, r12\n"
                                                                         "bne 2b\n"
                                                                         "ldr r0, [sp]\n"
                                                                         "ldrd r3, r1, [r0, #12]\n"
                                                                         "ldrd r2, r6, [r0, #20]\n"
                                                                         "strd r4, r5, [r3], #8\n"
                                                                         "add r1, r2\n"
                                                                         "strd r3, r1, [r0, #12]\n"
                                                                         "subs r6, #1\n"
                                                                         "str r6, [r0, #24]\n"
                                                                         "bne 1b\n"
                                                                         "pop {r0, r4-r11, pc}\n");
}

#include "gemm_s8.h"

_Static_assert(sizeof(void *) != 4 || (offsetof(ek_dsp_job, w) == 24 && offsetof(ek_dsp_job, sums) == 36 &&
                                       offsetof(ek_dsp_job, x_end) == 52),
               "the code below knows these");

/* r0 inputs, r1 weights; r4-r6 sums of whole halves, r7-r9 sums of low bytes, of three rows. */
#define PRODUCTS(weights)              \
    "ldm r0!, {r10, r11, r12}\n"       \
    "uxtb16 lr, " weights "\n"         \
    "smlad r4, r10, " weights ", r4\n" \
    "smlad r5, r11, " weights ", r5\n" \
    "smlad r6, r12, " weights ", r6\n" \
    "smlad r7, r10, lr, r7\n"          \
    "smlad r8, r11, lr, r8\n"          \
    "smlad r9, r12, lr, r9\n"

/* EK_DSP_STEP_BYTES of code: every instruction has 4 bytes. */
#define STEP "ldrd r2, r3, [r1], #8\n" PRODUCTS("r2") PRODUCTS("r3")

/* Up to 23 bits to the right, the zero point is part of what is added. */
#define SCALE(sum, multiplier, add, shift)               \
    "smmlar " sum ", " sum ", " multiplier ", " add "\n" \
    "asr " sum ", " sum ", " shift "\n"                  \
    "ssat " sum ", #8, " sum "\n"

#define SCALE_FAR(sum, multiplier, add, shift, zero)     \
    "smmlar " sum ", " sum ", " multiplier ", " add "\n" \
    "asr " sum ", " sum ", " shift "\n"                  \
    "add " sum ", " sum ", " zero "\n"                   \
    "ssat " sum ", #8, " sum "\n"

__attribute__((naked)) void ek_dsp_pairs_3(__attribute__((unused)) ek_dsp_job *job)
{
    __asm__ volatile(
        "push {r4-r11, lr}\n"
        "ldr r1, [r0, #52]\n"
        "push {r0, r1}\n"
        "1:\n" /* a pair */
        "ldrd r12, r3, [r0, #32]\n"
        "ldr r2, [r0]\n"
        "ldrd r1, r0, [r0, #24]\n"
        "ldm r0, {r4, r5, r6}\n"
        "adds r0, #16\n"
        "cmp r3, #0\n"
        "bne 6f\n"
        "ldr r2, [r2]\n"
        "add r4, r2\n"
        "add r5, r2\n"
        "add r6, r2\n"
        "2:\n"
        "mov r7, r4\n"
        "mov r8, r5\n"
        "mov r9, r6\n"
        "bx r12\n"
        ".balign 4\n"
        ".global ek_dsp_steps\n"
        "ek_dsp_steps:\n" STEP STEP STEP STEP "ldr lr, [sp, #4]\n"
        "cmp r0, lr\n"
        "bne ek_dsp_steps\n"
        "ldr r0, [sp]\n"
        "sub r4, r7\n" /* 256 times the sums for a */
        "sub r5, r8\n"
        "sub r6, r9\n"
        "ldrd r3, r2, [r0, #36]\n"
        "cmp r3, #0\n"
        "bne 7f\n"
        "str r1, [r0, #24]\n"
        "ldr r2, [r0]\n"
        "ldr r2, [r2, #4]\n"
        "lsl r2, #1\n"
        "add r4, r2, r4, asr #7\n"
        "add r5, r2, r5, asr #7\n"
        "add r6, r2, r6, asr #7\n"
        "3:\n" /* requantize 2 * a in r4-r6, b in r7-r9 */
        "lsl r7, #1\n"
        "lsl r8, #1\n"
        "lsl r9, #1\n"
        "ldm r0, {r2, r3, r10, r11, r12, lr}\n"
        "adds r2, #8\n"
        "str r2, [r0]\n"
        "ldr r2, [r3], #8\n"
        "ldr r1, [r3, #-4]\n"
        "str r3, [r0, #4]\n"
        "ldrsb r3, [r10], #2\n"
        "str r10, [r0, #8]\n"
        "ldrsb r10, [r10, #-1]\n"
        "rsbs r3, #0\n"
        "rsb r10, #0\n"
        "orr r0, r3, r10\n"
        "cmp r0, #23\n"
        "bhi 8f\n"
        "lsl r0, lr, r3\n"
        "asr r0, #1\n" SCALE("r7", "r2", "r0", "r3") SCALE("r8", "r2", "r0", "r3")
            SCALE("r9", "r2", "r0",
                  "r3") "lsl r0, lr, r10\n"
                        "asr r0, #1\n" SCALE("r4", "r1", "r0", "r10") SCALE("r5", "r1", "r0", "r10")
                            SCALE("r6", "r1", "r0",
                                  "r10") "4:\n"
                                         "bfi r7, r4, #8, #8\n"
                                         "bfi r8, r5, #8, #8\n"
                                         "bfi r9, r6, #8, #8\n"
                                         "ldr r0, [sp]\n"
                                         "strh r8, [r11, r12]\n"
                                         "strh r9, [r11, r12, lsl #1]\n"
                                         "strh r7, [r11], #2\n"
                                         "str r11, [r0, #12]\n"
                                         "5:\n"
                                         "ldr r1, [r0, #48]\n"
                                         "subs r1, #1\n"
                                         "str r1, [r0, #48]\n"
                                         "bne 1b\n"
                                         "add sp, #8\n"
                                         "pop {r4-r11, pc}\n"

                                         "6:\n" /* go on from sums */
                                         "adds r3, #12\n"
                                         "ldm r3, {r7, r8, r9}\n"
                                         "add r4, r7\n"
                                         "add r5, r8\n"
                                         "add r6, r9\n"
                                         "b 2b\n"

                                         "7:\n" /* to sums, or finish; r2 = finish */
                                         "ldr lr, [r0, #44]\n"
                                         "add r1, lr\n"
                                         "str r1, [r0, #24]\n"
                                         "ldm r3, {r10, r11, r12}\n"
                                         "add r4, r10, r4, asr #8\n"
                                         "add r5, r11, r5, asr #8\n"
                                         "add r6, r12, r6, asr #8\n"
                                         "stm r3!, {r4-r9}\n"
                                         "str r3, [r0, #36]\n"
                                         "cmp r2, #0\n"
                                         "beq 5b\n"
                                         "lsl r4, #1\n"
                                         "lsl r5, #1\n"
                                         "lsl r6, #1\n"
                                         "b 3b\n"

                                         "8:\n"
                                         "asr lr, #1\n" /* the zero point */
                                         "mov r0, #1\n"
                                         "lsl r0, r3\n"
                                         "lsr r0, #1\n" SCALE_FAR("r7", "r2", "r0", "r3",
                                                                  "lr") SCALE_FAR("r8", "r2", "r0", "r3", "lr")
                                             SCALE_FAR("r9", "r2", "r0", "r3",
                                                       "lr") "mov r0, #1\n"
                                                             "lsl r0, r10\n"
                                                             "lsr r0, #1\n" SCALE_FAR("r4", "r1", "r0", "r10", "lr")
                                                                 SCALE_FAR("r5", "r1", "r0", "r10", "lr")
                                                                     SCALE_FAR("r6", "r1", "r0", "r10", "lr") "b 4b\n");
}

/* r0 inputs, r1 weights; r2 sum of whole halves, r12 sum of low bytes. */
#define PRODUCTS_1(input, weights)           \
    "uxtb16 lr, " weights "\n"               \
    "smlad r2, " input ", " weights ", r2\n" \
    "smlad r12, " input ", lr, r12\n"

#define EIGHT_1                                                                                 \
    "ldm r0!, {r4-r7}\n"                                                                        \
    "ldm r1!, {r8-r11}\n" PRODUCTS_1("r4", "r8") PRODUCTS_1("r5", "r9") PRODUCTS_1("r6", "r10") \
        PRODUCTS_1("r7", "r11")

__attribute__((naked)) void ek_dsp_pairs_1(__attribute__((unused)) ek_dsp_job *job)
{
    __asm__ volatile(
        "push {r4-r11, lr}\n"
        "ldr r1, [r0, #52]\n"
        "push {r0, r1}\n"
        "1:\n"
        "ldr r3, [r0, #36]\n"
        "ldr r2, [r0]\n"
        "ldrd r1, r0, [r0, #24]\n"
        "cmp r3, #0\n"
        "it ne\n"
        "addne r2, r3, #4\n"
        "ldr r12, [r0], #16\n"
        "ldr r2, [r2]\n"
        "add r2, r12\n"
        "mov r12, r2\n"
        "ldr r3, [sp, #4]\n"
        "2:\n" EIGHT_1 EIGHT_1 "cmp r0, r3\n"
        "bne 2b\n"
        "ldr r0, [sp]\n"
        "add r3, r0, #36\n"
        "ldm r3, {r3, r10, r11}\n" /* sums, finish, w_gap */
        "ldr r1, [r0, #24]\n"
        "add r1, r11\n"
        "str r1, [r0, #24]\n"
        "sub r2, r12\n"
        "ldm r0, {r4-r9}\n"
        "cmp r3, #0\n"
        "bne 5f\n"
        "ldr r1, [r4, #4]\n"
        "add r2, r1, r2, asr #8\n"
        "3:\n" /* requantize a in r2, b in r12 */
        "lsl r2, #1\n"
        "lsl r12, #1\n"
        "adds r4, #8\n"
        "ldrd r10, r11, [r5], #8\n"
        "ldrsb r1, [r6], #2\n"
        "ldrsb r3, [r6, #-1]\n"
        "rsbs r1, #0\n"
        "rsbs r3, #0\n"
        "asr r9, #1\n" /* the zero point */
        "mov lr, #1\n"
        "lsl r8, lr, r1\n"
        "lsr r8, #1\n" SCALE_FAR("r12", "r10", "r8", "r1",
                                 "r9") "lsl r8, lr, r3\n"
                                       "lsr r8, #1\n" SCALE_FAR("r2", "r11", "r8", "r3",
                                                                "r9") "strb r12, [r7], #1\n"
                                                                      "strb r2, [r7], #1\n"
                                                                      "stm r0, {r4-r7}\n"
                                                                      "4:\n"
                                                                      "ldr r1, [r0, #48]\n"
                                                                      "subs r1, #1\n"
                                                                      "str r1, [r0, #48]\n"
                                                                      "bne 1b\n"
                                                                      "add sp, #8\n"
                                                                      "pop {r4-r11, pc}\n"

                                                                      "5:\n" /* to sums, or finish; r10 = finish */
                                                                      "ldr r1, [r3]\n"
                                                                      "add r2, r1, r2, asr #8\n"
                                                                      "strd r2, r12, [r3], #8\n"
                                                                      "str r3, [r0, #36]\n"
                                                                      "cmp r10, #0\n"
                                                                      "beq 4b\n"
                                                                      "b 3b\n");
}

__attribute__((naked)) uint32_t *ek_dsp_spread_3(__attribute__((unused)) int32_t *correction,
                                                 __attribute__((unused)) const int8_t *a,
                                                 __attribute__((unused)) size_t step,
                                                 __attribute__((unused)) size_t fours,
                                                 __attribute__((unused)) uint32_t *x)
{
    __asm__ volatile("push {r0, r4-r11, lr}\n"
                     "ldr r0, [sp, #40]\n"
                     "mov r10, #0\n" /* sums of a row's even and odd inputs, as halves */
                     "mov r11, #0\n"
                     "mov r12, #0\n"
                     "1:\n"
                     "ldr r5, [r1, r2]\n"
                     "ldr r6, [r1, r2, lsl #1]\n"
                     "ldr r4, [r1], #4\n"
                     "sxtb16 r7, r4, ror #8\n"
                     "sxtb16 r8, r5, ror #8\n"
                     "sxtb16 r9, r6, ror #8\n"
                     "sxtb16 r4, r4\n"
                     "sxtb16 r5, r5\n"
                     "sxtb16 r6, r6\n"
                     "stm r0!, {r4, r5, r6}\n"
                     "stm r0!, {r7, r8, r9}\n"
                     "sadd16 r4, r4, r7\n"
                     "sadd16 r5, r5, r8\n"
                     "sadd16 r6, r6, r9\n"
                     "sadd16 r10, r10, r4\n"
                     "sadd16 r11, r11, r5\n"
                     "sadd16 r12, r12, r6\n"
                     "subs r3, #1\n"
                     "bne 1b\n"
                     "pop {r1}\n"
                     "ldm r1, {r4, r5, r6}\n"
                     "movw r3, #0xff80\n" /* -128 in both halves */
                     "movt r3, #0xff80\n"
                     "smlad r4, r10, r3, r4\n"
                     "smlad r5, r11, r3, r5\n"
                     "smlad r6, r12, r3, r6\n"
                     "stm r1, {r4, r5, r6}\n"
                     "pop {r4-r11, pc}\n");
}

#include "gemm_s8.h"

/* r0 inputs, r1 weights; r4-r6 sums of whole halves, r7-r9 sums of low bytes, of three rows. */
#define PRODUCTS(weights)                                                                          \
    "ldm r0!, {r10, r11, r12}\n"                                                                   \
    "uxtb16 lr, " weights "\n"                                                                     \
    "smlad r4, r10, " weights ", r4\n"                                                             \
    "smlad r5, r11, " weights ", r5\n"                                                             \
    "smlad r6, r12, " weights ", r6\n"                                                             \
    "smlad r7, r10, lr, r7\n"                                                                      \
    "smlad r8, r11, lr, r8\n"                                                                      \
    "smlad r9, r12, lr, r9\n"

/* EK_DSP_STEP_BYTES of code: every instruction has 4 bytes. */
#define STEP "ldrd r2, r3, [r1], #8\n" PRODUCTS("r2") PRODUCTS("r3")

#define SCALE(sum, multiplier, shift)                                                              \
    "smmlar " sum ", " sum ", " multiplier ", r0\n"                                                \
    "asr " sum ", " sum ", " shift "\n"                                                            \
    "ssat " sum ", #8, " sum "\n"

__attribute__((naked)) void ek_dsp_pairs_3(ek_dsp_job *job)
{
    (void)job;
    __asm__ volatile(
        "push {r4-r11, lr}\n"
        "ldr r1, [r0, #52]\n"
        "push {r0, r1}\n"
        "1:\n" /* a pair: r12 = skip, r3 = sums, r2 = bias */
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
        "adr lr, 3f\n"
        "add lr, r12\n"
        "mov pc, lr\n"
        ".balign 4\n"
        "3:\n" STEP STEP STEP STEP
        "ldr lr, [sp, #4]\n"
        "cmp r0, lr\n"
        "bne 3b\n"
        "ldr r0, [sp]\n"
        "ldr lr, [r0, #44]\n"
        "add r1, lr\n"
        "str r1, [r0, #24]\n"
        "sub r4, r7\n" /* 256 times the sums for a */
        "sub r5, r8\n"
        "sub r6, r9\n"
        "ldrd r3, r2, [r0, #36]\n"
        "cmp r3, #0\n"
        "bne 7f\n"
        "ldr r2, [r0]\n"
        "ldr r2, [r2, #4]\n"
        "lsl r2, #1\n"
        "add r4, r2, r4, asr #7\n"
        "add r5, r2, r5, asr #7\n"
        "add r6, r2, r6, asr #7\n"
        "4:\n" /* requantize 2 * a in r4-r6, b in r7-r9 */
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
        "lsl r0, lr, r3\n"
        "asr r0, #1\n" SCALE("r7", "r2", "r3") SCALE("r8", "r2", "r3") SCALE("r9", "r2", "r3")
        "rsb r10, #0\n"
        "lsl r0, lr, r10\n"
        "asr r0, #1\n" SCALE("r4", "r1", "r10") SCALE("r5", "r1", "r10") SCALE("r6", "r1", "r10")
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
        "b 4b\n");
}

/* r0 inputs, r1 weights; r2 sum of whole halves, r12 sum of low bytes. */
#define PRODUCTS_1(input, weights)                                                                 \
    "uxtb16 lr, " weights "\n"                                                                     \
    "smlad r2, " input ", " weights ", r2\n"                                                       \
    "smlad r12, " input ", lr, r12\n"

#define EIGHT_1                                                                                    \
    "ldm r0!, {r4-r7}\n"                                                                           \
    "ldm r1!, {r8-r11}\n" PRODUCTS_1("r4", "r8") PRODUCTS_1("r5", "r9") PRODUCTS_1("r6", "r10")    \
        PRODUCTS_1("r7", "r11")

__attribute__((naked)) void ek_dsp_pair_1(const uint32_t *x, const void *w, int32_t *sums, const uint32_t *x_end)
{
    (void)x, (void)w, (void)sums, (void)x_end;
    __asm__ volatile("push {r2, r4-r11, lr}\n"
                     "ldr r12, [r2, #4]\n"
                     "mov r2, r12\n"
                     "1:\n" EIGHT_1 EIGHT_1
                     "cmp r0, r3\n"
                     "bne 1b\n"
                     "pop {r0}\n"
                     "sub r2, r12\n"
                     "ldr r1, [r0]\n"
                     "add r1, r1, r2, asr #8\n"
                     "strd r1, r12, [r0]\n"
                     "pop {r4-r11, pc}\n");
}

__attribute__((naked)) uint32_t *ek_dsp_spread_3(int32_t *correction, const int8_t *a, size_t step, size_t fours,
                                                 uint32_t *x)
{
    (void)correction, (void)a, (void)step, (void)fours, (void)x;
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

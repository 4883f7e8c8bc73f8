#include "depthwise_s8.h"

_Static_assert(sizeof(void *) != 4 || (offsetof(ek_dsp_line, x) == 20 && offsetof(ek_dsp_line, enter) == 40 &&
                                       offsetof(ek_dsp_line, groups) == 68),
               "the code below knows these");

/* Inputs of three taps r7, r9, lr to pairs of halves r8-r11 and r12, lr; channels 0, 2, 1, 3. */
#define SPREAD                      \
    "sxtb16 r12, lr\n"              \
    "sxtb16 lr, lr, ror #8\n"       \
    "sxtb16 r8, r7\n"               \
    "sxtb16 r7, r7, ror #8\n"       \
    "sxtb16 r10, r9\n"              \
    "sxtb16 r11, r9, ror #8\n"      \
    "pkhtb r9, r10, r8, asr #16\n"  \
    "pkhbt r8, r8, r10, lsl #16\n"  \
    "pkhbt r10, r7, r11, lsl #16\n" \
    "pkhtb r11, r11, r7, asr #16\n" \
    "stm r0!, {r8-r12, lr}\n"       \
    "cmp r0, r6\n"

/* EK_DSP_COLUMN_BYTES of code: every instruction has 4 bytes. */
#define COLUMN                 \
    "ldm r0!, {r8-r12, lr}\n"  \
    "ldrd r2, r3, [r1], #8\n"  \
    "smlad r4, r8, r2, r4\n"   \
    "smlad r5, r9, r3, r5\n"   \
    "ldrd r2, r3, [r1], #8\n"  \
    "smlad r6, r10, r2, r6\n"  \
    "smlad r7, r11, r3, r7\n"  \
    "ldrd r2, r3, [r1], #8\n"  \
    "smlabb r4, r12, r2, r4\n" \
    "smlatt r5, r12, r2, r5\n" \
    "smlabb r6, lr, r3, r6\n"  \
    "smlatt r7, lr, r3, r7\n"

#define SCALE(sum, multiplier, add, shift)               \
    "smmlar " sum ", " sum ", " multiplier ", " add "\n" \
    "asr " sum ", " sum ", " shift "\n"                  \
    "ssat " sum ", #8, " sum "\n"

__attribute__((naked)) void ek_dsp_depthwise_line(__attribute__((unused)) ek_dsp_line *line)
{
    __asm__ volatile("push {r4-r11, lr}\n"
                     "push {r0, r1}\n" /* and room for w_end */
                     "1:\n"            /* four channels; r0 = line */
                     "ldrd r5, r4, [r0]\n"
                     "adds r1, r4, #4\n"
                     "str r1, [r0, #4]\n"
                     "cmp r5, #0\n"
                     "bne 6f\n"
                     "ldr r5, [r0, #28]\n"
                     "ldrd r1, r2, [r0, #8]\n"
                     "ldr r3, [r0, #16]\n"
                     "ldrd r0, r6, [r0, #20]\n"
                     "2:\n"
                     "ldr r7, [r1, r4]\n"
                     "ldr r9, [r2, r4]\n"
                     "ldr lr, [r3, r4]\n"
                     "add r4, r5\n" SPREAD "bne 2b\n"
                     "3:\n"
                     "ldr lr, [sp]\n"
                     "ldr r0, [lr, #20]\n"
                     "ldrd r1, r2, [lr, #32]\n"
                     "str r2, [sp, #4]\n"
                     "4:\n" /* a pixel; lr = line */
                     "ldm r1!, {r4-r7}\n"
                     "ldr pc, [lr, #40]\n"
                     ".balign 4\n"
                     ".global ek_dsp_depthwise_columns\n"
                     "ek_dsp_depthwise_columns:\n" COLUMN COLUMN COLUMN "ldr r2, [sp, #4]\n"
                     "cmp r1, r2\n"
                     "bne ek_dsp_depthwise_columns\n"
                     "ldm r1!, {r8-r12, lr}\n" SCALE("r4", "r8", "r9", "r10")
                         SCALE("r5", "r11", "r12", "lr") "ldm r1!, {r8-r12, lr}\n" SCALE("r6", "r8", "r9", "r10")
                             SCALE("r7", "r11", "r12",
                                   "lr") "bfi r4, r6, #8, #8\n"
                                         "bfi r4, r5, #16, #8\n"
                                         "bfi r4, r7, #24, #8\n"
                                         "ldr lr, [sp]\n"
                                         "add r12, lr, #44\n"
                                         "ldm r12, {r2, r3, r5, r6, r7}\n" /* group_bytes, out, out_step, back, end */
                                         "str r4, [r3]\n"
                                         "add r3, r5\n"
                                         "str r3, [lr, #48]\n"
                                         "sub r0, r6\n"
                                         "cmp r0, r7\n"
                                         "beq 5f\n"
                                         "sub r1, r2\n"
                                         "b 4b\n"
                                         "5:\n"
                                         "ldr r7, [sp, #4]\n"
                                         "add r7, r2\n"
                                         "strd r1, r7, [lr, #32]\n"
                                         "ldrd r4, r5, [lr, #64]\n" /* rewind, groups */
                                         "sub r3, r4\n"
                                         "str r3, [lr, #48]\n"
                                         "subs r5, #1\n"
                                         "str r5, [lr, #68]\n"
                                         "mov r0, lr\n"
                                         "bne 1b\n"
                                         "add sp, #8\n"
                                         "pop {r4-r11, pc}\n"

                                         "6:\n"
                                         "ldrd r0, r6, [r0, #20]\n"
                                         "7:\n"
                                         "ldm r5!, {r1, r2, r3}\n"
                                         "ldr r7, [r1, r4]\n"
                                         "ldr r9, [r2, r4]\n"
                                         "ldr lr, [r3, r4]\n" SPREAD "bne 7b\n"
                                         "b 3b\n");
}

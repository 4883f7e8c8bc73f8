/* depthwise_s8: 16 channels side by side. Products of two taps fit int16 together; each such sum is
 * widened and added to 32-bit sums, four vectors of them. That takes every register, so weights of the
 * second tap are loaded twice. */
#include "kernels.h"

/* All channels of one pixel. */
typedef struct job {
    const int8_t *const *taps;
    size_t offset; /* of the channels, from each tap */
    const void *packed;
    int8_t *out;
    size_t pairs, singles; /* of taps */
    uint32_t channels;
    ptrdiff_t next; /* from the scales of a block to the next block */
    int32_t zero_point, qmin, qmax;
} job;

#define AT(field) [field] "i"(offsetof(job, field))

/* Instructions of one kind (loads, products, the others) take two cycles each when they follow one another, of two
 * kinds one: hence their order. */

#define REQUANTIZE              \
    "vldrw.32 q0, [r5]\n"       \
    "vldrb.s32 q1, [r5, #64]\n" \
    "vqrdmulh.s32 q4, q4, q0\n" \
    "vldrw.32 q2, [r5, #16]\n"  \
    "vrshl.s32 q4, q4, q1\n"    \
    "vldrb.s32 q3, [r5, #68]\n" \
    "vqrdmulh.s32 q5, q5, q2\n" \
    "vldrw.32 q0, [r5, #32]\n"  \
    "vrshl.s32 q5, q5, q3\n"    \
    "vldrb.s32 q1, [r5, #72]\n" \
    "vqrdmulh.s32 q6, q6, q0\n" \
    "vldrw.32 q2, [r5, #48]\n"  \
    "vrshl.s32 q6, q6, q1\n"    \
    "vldrb.s32 q3, [r5, #76]\n" \
    "vqrdmulh.s32 q7, q7, q2\n" \
    "vrshl.s32 q7, q7, q3\n"

/* The same where a shift is positive: that many to the left before the product. */
#define REQUANTIZE_LEFT_4(v, multiplier, shift) \
    "vldrb.s32 q1, [r5, #" shift "]\n"          \
    "vldrw.32 q0, [r5, #" multiplier "]\n"      \
    "vmax.s32 q2, q1, q3\n"                     \
    "vmin.s32 q1, q1, q3\n"                     \
    "vshl.s32 " v ", " v ", q2\n vqrdmulh.s32 " v ", " v ", q0\n vrshl.s32 " v ", " v ", q1\n"
#define REQUANTIZE_LEFT                                                                        \
    "vmov.i32 q3, #0\n" REQUANTIZE_LEFT_4("q4", "0", "64") REQUANTIZE_LEFT_4("q5", "16", "68") \
        REQUANTIZE_LEFT_4("q6", "32", "72") REQUANTIZE_LEFT_4("q7", "48", "76")

/* Zero point, clamp and store; r7: out. Saturation on the way does no harm: the zero point and the
 * range are int8. r5 goes to the next block, r3 to its channels. */
#define NARROW_AND_STORE                  \
    "vqmovnb.s32 q4, q4\n"                \
    "ldrd r0, r2, [r11, %[zero_point]]\n" \
    "vqmovnt.s32 q4, q5\n"                \
    "add r5, r10\n"                       \
    "vqmovnb.s32 q6, q6\n"                \
    "vdup.8 q0, r2\n"                     \
    "vqmovnt.s32 q6, q7\n"                \
    "ldr r2, [r11, %[qmax]]\n"            \
    "vqadd.s16 q4, q4, r0\n"              \
    "adds r3, #16\n"                      \
    "vqadd.s16 q6, q6, r0\n"              \
    "vdup.8 q1, r2\n"                     \
    "vqmovnb.s16 q4, q4\n"                \
    "vqmovnt.s16 q4, q6\n"                \
    "vmax.s8 q4, q4, q0\n"                \
    "vmin.s8 q4, q4, q1\n"                \
    "vpst\n"                              \
    "vstrbt.8 q4, [r7]\n"

#define CODE(REQUANTIZATION)                                                                                       \
    __asm__ volatile("ldrd r9, r3, [r11, %[taps]]\n"                                                               \
                     "ldrd r5, r7, [r11, %[packed]]\n"                                                             \
                     "ldrd r12, r8, [r11, %[pairs]]\n"                                                             \
                     "ldrd r6, r10, [r11, %[channels]]\n"                                                          \
                     "0:\n"                                                                                        \
                     "vldrw.32 q4, [r5], #16\n"                                                                    \
                     "mov r1, r9\n"                                                                                \
                     "vldrw.32 q5, [r5], #16\n"                                                                    \
                     "vctp.8 r6\n"                                                                                 \
                     "vldrw.32 q6, [r5], #16\n"                                                                    \
                     "vldrw.32 q7, [r5], #16\n"                                                                    \
                     "wls lr, r12, 2f\n"                                                                           \
                     "1:\n"                                                                                        \
                     "ldrd r0, r2, [r1], #8\n"                                                                     \
                     "vldrb.8 q1, [r5], #16\n"                                                                     \
                     "add r0, r3\n"                                                                                \
                     "vpst\n"                                                                                      \
                     "vldrbt.8 q0, [r0]\n"                                                                         \
                     "vmullb.s8 q2, q0, q1\n"                                                                      \
                     "add r2, r3\n"                                                                                \
                     "vmullt.s8 q3, q0, q1\n"                                                                      \
                     "vpst\n"                                                                                      \
                     "vldrbt.8 q0, [r2]\n"                                                                         \
                     "vldrb.8 q1, [r5]\n"                                                                          \
                     "vmullb.s8 q1, q0, q1\n"                                                                      \
                     "vadd.i16 q2, q2, q1\n"                                                                       \
                     "vldrb.8 q1, [r5], #16\n"                                                                     \
                     "vmullt.s8 q1, q0, q1\n"                                                                      \
                     "vmovlb.s16 q0, q2\n"                                                                         \
                     "vadd.i16 q3, q3, q1\n"                                                                       \
                     "vadd.i32 q4, q4, q0\n"                                                                       \
                     "vmovlt.s16 q0, q2\n"                                                                         \
                     "vadd.i32 q5, q5, q0\n"                                                                       \
                     "vmovlb.s16 q0, q3\n"                                                                         \
                     "vadd.i32 q6, q6, q0\n"                                                                       \
                     "vmovlt.s16 q0, q3\n"                                                                         \
                     "vadd.i32 q7, q7, q0\n"                                                                       \
                     "le lr, 1b\n"                                                                                 \
                     "2:\n"                                                                                        \
                     "wls lr, r8, 4f\n"                                                                            \
                     "3:\n"                                                                                        \
                     "ldr r0, [r1], #4\n"                                                                          \
                     "vldrb.8 q1, [r5], #16\n"                                                                     \
                     "add r0, r3\n"                                                                                \
                     "vpst\n"                                                                                      \
                     "vldrbt.8 q0, [r0]\n"                                                                         \
                     "vmullb.s8 q2, q0, q1\n"                                                                      \
                     "vmullt.s8 q3, q0, q1\n"                                                                      \
                     "vmovlb.s16 q0, q2\n"                                                                         \
                     "vadd.i32 q4, q4, q0\n"                                                                       \
                     "vmovlt.s16 q0, q2\n"                                                                         \
                     "vadd.i32 q5, q5, q0\n"                                                                       \
                     "vmovlb.s16 q0, q3\n"                                                                         \
                     "vadd.i32 q6, q6, q0\n"                                                                       \
                     "vmovlt.s16 q0, q3\n"                                                                         \
                     "vadd.i32 q7, q7, q0\n"                                                                       \
                     "le lr, 3b\n"                                                                                 \
                     "4:\n" REQUANTIZATION NARROW_AND_STORE "adds r7, #16\n"                                       \
                     "subs r6, #16\n"                                                                              \
                     "bgt 0b\n"                                                                                    \
                     : "+r"(at)                                                                                    \
                     : AT(taps), AT(packed), AT(pairs), AT(channels), AT(zero_point), AT(qmax)                     \
                     : "r0", "r1", "r2", "r3", "r5", "r6", "r7", "r8", "r9", "r10", "r12", "lr", "cc", "q0", "q1", \
                       "q2", "q3", "q4", "q5", "q6", "q7", "memory")

static __attribute__((noinline)) void pixel(job *j)
{
    register job *at __asm__("r11") = j;
    CODE(REQUANTIZE);
}

static __attribute__((noinline)) void pixel_left(job *j)
{
    register job *at __asm__("r11") = j;
    CODE(REQUANTIZE_LEFT);
}

void ek_mve_depthwise_s8(int8_t *out, size_t out_step, const int8_t *const *taps, size_t in_step, size_t pixels,
                         const ek_depthwise_s8 *d)
{
    const ek_requant *q = &d->requant;
    const ek_mve_depthwise *all = d->weights;
    /* Neighbouring pixels of few channels: one pixel of many, every block of which is the same. */
    const bool run = ek_mve_period(d->c) != d->c && in_step == d->c && out_step == d->c;
    const size_t block = ek_mve_depthwise_block(d->taps), pairs = all->extreme ? 0 : d->taps / 2;
    job j = { .taps = taps,
              .offset = 0,
              .packed = all + 1,
              .out = out,
              .pairs = pairs,
              .singles = d->taps - 2 * pairs,
              .channels = (uint32_t)(run ? pixels * d->c : d->c),
              .next = (ptrdiff_t)sizeof(ek_mve_scales) - (run ? (ptrdiff_t)block : 0),
              .zero_point = q->zero_point,
              .qmin = q->qmin,
              .qmax = q->qmax };
    for (size_t p = run ? 1 : pixels; p; p--, j.offset += in_step, j.out += out_step) {
        if (all->any_left)
            pixel_left(&j);
        else
            pixel(&j);
    }
}

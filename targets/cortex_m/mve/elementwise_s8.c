/* Loops under tail predication (dlstp, letp): the last step touches what is left and no more. The
 * compiler cannot be told of them, hence assembly. */
#include "kernels.h"
#include "requant.h"

enum { LANES = 4 };

typedef struct sum {
    int32_t bias[LANES], qmin[LANES], qmax[LANES];
    int32_t shift; /* left */
} sum;

#define SUM_CONSTANTS            \
    "vldrw.32 q4, [%[s]]\n"      \
    "vldrw.32 q5, [%[s], #16]\n" \
    "vldrw.32 q6, [%[s], #32]\n"
#define SUM_STORE                 \
    "vshl.s32 q0, %[shift]\n"     \
    "vmax.s32 q0, q0, q5\n"       \
    "vmin.s32 q0, q0, q6\n"       \
    "vstrb.32 q0, [%[out]], #4\n" \
    "letp lr, 1b\n"               \
    "2:\n"

static void add_two(int8_t *out, const int8_t *a, const int8_t *b, size_t count, const ek_add_s8 *p, const sum *s)
{
    __asm__ volatile(
        SUM_CONSTANTS "wlstp.32 lr, %[count], 2f\n"
                      "1:\n"
                      "vldrb.s32 q1, [%[a]], #4\n"
                      "vldrb.s32 q2, [%[b]], #4\n"
                      "vmov q0, q4\n"
                      "vmla.s32 q0, q1, %[ma]\n"
                      "vmla.s32 q0, q2, %[mb]\n" SUM_STORE
        : [out] "+l"(out), [a] "+l"(a), [b] "+l"(b)
        : [count] "r"(count), [s] "r"(s), [shift] "r"(s->shift), [ma] "r"(p->a_multiplier), [mb] "r"(p->b_multiplier)
        : "lr", "q0", "q1", "q2", "q4", "q5", "q6", "memory");
}

static void add_one(int8_t *out, const int8_t *a, size_t count, const ek_add_s8 *p, const sum *s)
{
    __asm__ volatile(SUM_CONSTANTS "wlstp.32 lr, %[count], 2f\n"
                                   "1:\n"
                                   "vldrb.s32 q1, [%[a]], #4\n"
                                   "vmov q0, q4\n"
                                   "vmla.s32 q0, q1, %[ma]\n" SUM_STORE
                     : [out] "+l"(out), [a] "+l"(a)
                     : [count] "r"(count), [s] "r"(s), [shift] "r"(s->shift), [ma] "r"(p->a_multiplier)
                     : "lr", "q0", "q1", "q4", "q5", "q6", "memory");
}

void ek_mve_add_s8(int8_t *out, const int8_t *a, const int8_t *b, size_t b_step, size_t count, const ek_add_s8 *p)
{
    const int32_t constant = b_step || !count ? 0 : b[0] * p->b_multiplier;
    sum s = { .shift = -p->shift };
    vst1q_s32(s.bias, vdupq_n_s32((int32_t)((uint32_t)p->bias + (uint32_t)constant)));
    vst1q_s32(s.qmin, vdupq_n_s32(p->qmin));
    vst1q_s32(s.qmax, vdupq_n_s32(p->qmax));
    if (b_step)
        add_two(out, a, b, count, p, &s);
    else
        add_one(out, a, count, p, &s);
}

void ek_mve_mul_s8(int8_t *out, const int8_t *a, const int8_t *b, size_t b_step, size_t count, const ek_mul_s8 *p)
{
    const int32x4_t qmin = vdupq_n_s32(p->qmin), qmax = vdupq_n_s32(p->qmax);
    const int32x4_t m = vdupq_n_s32(p->multiplier), shift = vdupq_n_s32(p->shift);
    const int32x4_t value = vdupq_n_s32(b_step || !count ? 0 : b[0]);
    for (size_t at = 0; at < count; at += LANES) {
        const mve_pred16_t left = vctp32q((uint32_t)(count - at));
        const int32x4_t x = vaddq_n_s32(vldrbq_z_s32(a + at, left), -p->a_zero);
        const int32x4_t y = vaddq_n_s32(b_step ? vldrbq_z_s32(b + at, left) : value, -p->b_zero);
        const int32x4_t v = vaddq_n_s32(ek_mve_scale(vmulq_s32(x, y), m, shift), p->zero_point);
        vstrbq_p_s32(out + at, vminq_s32(vmaxq_s32(v, qmin), qmax), left);
    }
}

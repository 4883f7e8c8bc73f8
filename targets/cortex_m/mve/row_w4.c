/* row_w4: 4 channels of a row at a time, as gemm_s8 has them. Nibbles stand at the top of bytes, so that sums of
 * products are 16 times as large until a multiplier is applied. */
#include "gemm_loops.h"
#include "kernels.h"
#include "kernels_ref/reference.h"
#include "requant.h"

enum { LONG = 32, SHORT = 16, MOST = 1 << 16 /* of a group, before its sum leaves 32 bits */ };

/* Some blocks of 4 channels. Their inputs are `groups` times `steps` of 32, each time with the next multiplier;
 * `shorts` times 16, `short_step` multipliers apart; and `tail` more, less than 16. */
typedef struct job {
    const uint8_t *w;
    size_t w_step, w1, w2, w3; /* bytes to the next block's nibbles; to the other channels' */
    const int8_t *a;
    const uint8_t *group; /* the first of a multiplier */
    size_t group_step;    /* from a block's multipliers to the next one's */
    int8_t *out;
    const int8_t *out_end;
    size_t groups, steps, shorts, short_step, tail;
    const int32_t *bias, *multiplier;
    const int8_t *shift;
    int32_t zero_point;
    int32_t qmin[4], qmax[4];
    uint32_t apart[4]; /* from a channel's multipliers to the others' */
} job;

/* clang-format off */

/* 32 inputs: q0 has the even ones, q1 the odd ones, q4 0xf0 in all bytes. */
#define LONG_PRODUCTS(w, sum)           \
    "vldrb.8 q2, [" w "], #16\n"        \
    "vshl.i8 q3, q2, #4\n"              \
    "vand q2, q2, q4\n"                 \
    "vmladava.s8 " sum ", q0, q3\n"     \
    "vmladava.s8 " sum ", q1, q2\n"
/* 16 inputs in q0; halves of v have a byte of nibbles each, which become both of theirs. */
#define SHORT_PRODUCTS(v, sum)               \
    "vsli.16 " v ", " v ", #4\n"             \
    "vshl.i8 " v ", " v ", #4\n"             \
    "vmladav.s8 " sum ", q0, " v "\n"
#define LOAD_SHORT_PRODUCTS(w, sum)          \
    "vldrb.u16 q1, [" w "], #8\n"            \
    SHORT_PRODUCTS("q1", sum)
/* Of the channels' sums in r0, r2, r4 and r6, by the multipliers at r9. */
#define ADD_SCALED                      \
    "vldrb.u32 q1, [r9, q5]\n"          \
    "vmov q0[2], q0[0], r0, r4\n"       \
    "vmov q0[3], q0[1], r2, r6\n"       \
    "vshr.s32 q0, q0, #4\n"             \
    "vmul.i32 q0, q0, q1\n"             \
    "vadd.i32 q6, q6, q0\n"

static __attribute__((noinline)) void blocks(job *j)
{
    register job *at __asm__("r11") = j;
    __asm__ volatile("vmov.i8 q4, #0xf0\n"
                     "vldrw.32 q5, [r11, %[apart]]\n"
                     "0:\n"
                     "ldrd r1, r0, [r11, %[w]]\n"
                     "ldrd r3, r5, [r11, %[w1]]\n"
                     "ldrd r7, r8, [r11, %[w3]]\n"
                     "add r0, r1\n"
                     "str r0, [r11, %[w]]\n"
                     "add r3, r1\n"
                     "add r5, r1\n"
                     "add r7, r1\n"
                     "ldrd r9, r0, [r11, %[group]]\n"
                     "add r0, r9\n"
                     "str r0, [r11, %[group]]\n"
                     "ldr r0, [r11, %[bias]]\n"
                     "vldrw.32 q6, [r0], #16\n"
                     "str r0, [r11, %[bias]]\n"
                     "ldrd r12, r10, [r11, %[groups]]\n"
                     "cmp r12, #0\n"
                     "beq 3f\n"
                     "1:\n"
                     "movs r0, #0\n"
                     "movs r2, #0\n"
                     "movs r4, #0\n"
                     "movs r6, #0\n"
                     "dls lr, r10\n"
                     "2:\n"
                     "vld20.8 {q0, q1}, [r8]\n"
                     "vld21.8 {q0, q1}, [r8]!\n"
                     LONG_PRODUCTS("r1", "r0")
                     LONG_PRODUCTS("r3", "r2")
                     LONG_PRODUCTS("r5", "r4")
                     LONG_PRODUCTS("r7", "r6")
                     "le lr, 2b\n"
                     ADD_SCALED
                     "add r9, #1\n"
                     "subs r12, #1\n"
                     "bne 1b\n"
                     "3:\n"
                     "ldrd r12, r10, [r11, %[shorts]]\n"
                     "wls lr, r12, 5f\n"
                     "4:\n"
                     "vldrb.8 q0, [r8], #16\n"
                     LOAD_SHORT_PRODUCTS("r1", "r0")
                     LOAD_SHORT_PRODUCTS("r3", "r2")
                     LOAD_SHORT_PRODUCTS("r5", "r4")
                     LOAD_SHORT_PRODUCTS("r7", "r6")
                     ADD_SCALED
                     "add r9, r10\n"
                     "le lr, 4b\n"
                     "5:\n"
                     "ldr r0, [r11, %[tail]]\n"
                     "cbz r0, 6f\n"
                     "vctp.8 r0\n"
                     "vpst\n"
                     "vldrbt.8 q0, [r8]\n"
                     "adds r0, #1\n"
                     "lsrs r0, r0, #1\n"
                     "vctp.16 r0\n"
                     "vpstttt\n"
                     "vldrbt.u16 q1, [r1]\n"
                     "vldrbt.u16 q2, [r3]\n"
                     "vldrbt.u16 q3, [r5]\n"
                     "vldrbt.u16 q7, [r7]\n"
                     SHORT_PRODUCTS("q1", "r0")
                     SHORT_PRODUCTS("q2", "r2")
                     SHORT_PRODUCTS("q3", "r4")
                     SHORT_PRODUCTS("q7", "r6")
                     ADD_SCALED
                     "6:\n"
                     "ldrd r0, r2, [r11, %[multiplier]]\n"
                     "vldrw.32 q1, [r0], #16\n"
                     "vldrb.s32 q2, [r2], #4\n"
                     "strd r0, r2, [r11, %[multiplier]]\n"
                     "ldr r0, [r11, %[zero_point]]\n"
                     "ldrd r2, r4, [r11, %[out]]\n"
                     "vmov.i32 q3, #0\n"
                     "vmax.s32 q0, q2, q3\n"
                     "vmin.s32 q2, q2, q3\n"
                     "vshl.s32 q6, q6, q0\n"
                     "vqrdmulh.s32 q6, q6, q1\n"
                     "vrshl.s32 q6, q6, q2\n"
                     "vadd.i32 q6, q6, r0\n"
                     "vldrw.32 q3, [r11, %[qmin]]\n"
                     "vldrw.32 q7, [r11, %[qmax]]\n"
                     "vmax.s32 q6, q6, q3\n"
                     "vmin.s32 q6, q6, q7\n"
                     "vstrb.32 q6, [r2], #4\n"
                     "str r2, [r11, %[out]]\n"
                     "cmp r2, r4\n"
                     "bne 0b\n"
                     : "+r"(at)
                     : AT(w), AT(w1), AT(w3), AT(group), AT(bias), AT(groups), AT(shorts), AT(tail), AT(multiplier),
                       AT(zero_point), AT(out), AT(qmin), AT(qmax), AT(apart)
                     : ALL_REGISTERS);
}

/* clang-format on */

/* What of a row is multiplied how. */
static void split(job *j, uint32_t k, uint32_t group)
{
    const uint32_t whole = group ? group : k / LONG * LONG;
    j->groups = group == SHORT || !whole ? 0 : k / whole;
    j->steps = whole / LONG;
    const uint32_t rest = k - j->groups * whole;
    j->shorts = rest / SHORT;
    j->short_step = group == SHORT;
    j->tail = rest % SHORT;
}

/* The channels there are of the last block; the first of them stands in for those there are not. */
static void last_block(job *j, uint32_t n)
{
    int32_t bias[4] = { 0 }, multiplier[4] = { 0 };
    int8_t shift[4] = { 0 }, out[4], *const to = j->out;
    for (uint32_t c = 0; c < n; c++) bias[c] = j->bias[c], multiplier[c] = j->multiplier[c], shift[c] = j->shift[c];
    if (n < 3) j->w2 = 0, j->apart[2] = 0;
    if (n < 2) j->w1 = 0, j->apart[1] = 0;
    j->w3 = 0, j->apart[3] = 0;
    j->bias = bias, j->multiplier = multiplier, j->shift = shift;
    j->out = out, j->out_end = out + 4;
    blocks(j);
    for (uint32_t c = 0; c < n; c++) to[c] = out[c];
}

void ek_mve_row_w4(int8_t *out, const int8_t *a, const ek_w4 *w, const ek_requant *r, uint32_t n)
{
    static const uint8_t ones[2] = { 1, 1 }; /* of 32s and of the rest */
    const uint32_t k = w->k, group = w->group, groups = group ? (k - 1) / group + 1 : 0;
    const size_t row = k / 2 + k % 2;
    if ((group % LONG && group != SHORT) || (group ? group : k) > MOST) { /* they end within vectors, or are long */
        ek_row_w4_ref(out, a, w, r, n);
        return;
    }
    job j;
    j.w = w->nibbles;
    j.w1 = row, j.w2 = 2 * row, j.w3 = 3 * row, j.w_step = 4 * row;
    j.a = a;
    j.group = group ? w->multipliers : ones;
    j.group_step = 4 * (size_t)groups;
    j.out = out;
    j.out_end = out + n / 4 * 4;
    split(&j, k, group);
    j.bias = r->bias, j.multiplier = r->multiplier, j.shift = r->shift;
    j.zero_point = r->zero_point;
    vst1q_s32(j.qmin, vdupq_n_s32(r->qmin));
    vst1q_s32(j.qmax, vdupq_n_s32(r->qmax));
    vst1q_u32(j.apart, vmulq_n_u32(vidupq_n_u32(0, 1), groups));
    if (n >= 4) blocks(&j);
    if (n % 4) last_block(&j, n % 4);
}

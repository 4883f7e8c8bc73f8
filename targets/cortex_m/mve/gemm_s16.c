/* gemm_s16 on vmladava, as gemm_s8.c but for 8 products in one instruction, on weights that are widened as
 * they are loaded. With the multiplier in the top bits of a word, only the high word of the product matters to
 * the shift. Sums that may not fit int32 are summed one by one, in 64 bits. */
#include <arm_mve.h>

#include "fixed_point.h"
#include "gemm_loops.h"
#include "kernels.h"

enum { LEAST_SHIFT = 25 }; /* of what the loops requantize */

/* Some rows by some blocks. The rows and the first block are given by their last chunk of k, which
 * alone may be short. Steps are in bytes. */
typedef struct job {
    const int16_t *a;
    size_t a_step;
    const int8_t *w;
    size_t w_step; /* from the last chunk of a block, column 1, to that of the next, column 0 */
    int16_t *out;
    size_t out_step;
    const int16_t *out_end; /* of the first row */
    size_t chunks, tail;    /* chunks before the last one; elements of the last one */
    const int32_t *multiplier;
    const uint8_t *shift;
    int32_t qmin[4], qmax[4];
} job;

#define OFFSETS AT(a), AT(w), AT(out), AT(out_end), AT(out_step), AT(chunks), AT(multiplier), AT(qmin), AT(qmax)

/* clang-format off */

/* Three rows of more than one chunk: channels 0 and 2 of a block from the last chunk to the first, then
 * 1 and 3 back again, so that rows need not be rewound. So that a load stands between products, each loop ends
 * with a row of the next chunk: of the third row on the way down, of the first on the way up. The one past the
 * end is not used, and lies between the rows' first and last bytes (LEAST_STEP). */
static __attribute__((noinline)) void rows_3(job *j)
{
    register job *at __asm__("r11") = j;
    __asm__ volatile("ldrd r1, r3, [r11, %[a]]\n"
                     "add r9, r1, r3, lsl #1\n"
                     "add r3, r1\n"
                     "ldr r7, [r11, %[w]]\n"
                     "ldr r5, [r11, %[out]]\n"
                     "ldrd r12, r0, [r11, %[chunks]]\n"
                     "vctp.16 r0\n"
                     "0:\n"
                     "vpsttt\n"
                     "vldrht.u16 q2, [r9]\n"
                     "vldrht.u16 q0, [r1]\n"
                     "vldrht.u16 q1, [r3]\n"
                     "vldrb.s16 q3, [r7]\n"
                     "vmladav.s16 r8, q2, q3\n"
                     "vldrb.s16 q4, [r7, #16]\n"
                     "vmladav.s16 r10, q2, q4\n"
                     "vmladav.s16 r0, q0, q3\n"
                     "vldrh.u16 q2, [r9, #-16]!\n"
                     "vmladav.s16 r2, q0, q4\n"
                     "vmladav.s16 r4, q1, q3\n"
                     "vmladav.s16 r6, q1, q4\n"
                     "wls lr, r12, 2f\n"
                     "1:\n"
                     "vldrb.s16 q3, [r7, #-32]!\n"
                     "vmladava.s16 r8, q2, q3\n"
                     "vldrb.s16 q4, [r7, #16]\n"
                     "vmladava.s16 r10, q2, q4\n"
                     "vldrh.u16 q0, [r1, #-16]!\n"
                     "vmladava.s16 r0, q0, q3\n"
                     "vldrh.u16 q2, [r9, #-16]!\n"
                     "vmladava.s16 r2, q0, q4\n"
                     "vldrh.u16 q1, [r3, #-16]!\n"
                     "vmladava.s16 r4, q1, q3\n"
                     "vmladava.s16 r6, q1, q4\n"
                     "le lr, 1b\n"
                     "2:\n"
                     "vldrb.s16 q3, [r7, #8]!\n"
                     "vmov q5[2], q5[0], r0, r2\n"
                     "vmladav.s16 r0, q0, q3\n"
                     "vldrb.s16 q4, [r7, #16]\n"
                     "vmov q6[2], q6[0], r4, r6\n"
                     "vmladav.s16 r2, q0, q4\n"
                     "vldrh.u16 q2, [r9, #16]!\n"
                     "vmov q7[2], q7[0], r8, r10\n"
                     "vmladav.s16 r4, q1, q3\n"
                     "vldrh.u16 q0, [r1, #16]!\n"
                     "vmladav.s16 r6, q1, q4\n"
                     "sub lr, r12, #1\n"
                     "vmladav.s16 r8, q2, q3\n"
                     "vmladav.s16 r10, q2, q4\n"
                     "wls lr, lr, 4f\n"
                     "3:\n"
                     "vldrb.s16 q3, [r7, #32]!\n"
                     "vmladava.s16 r0, q0, q3\n"
                     "vldrb.s16 q4, [r7, #16]\n"
                     "vmladava.s16 r2, q0, q4\n"
                     "vldrh.u16 q1, [r3, #16]!\n"
                     "vmladava.s16 r4, q1, q3\n"
                     "vldrh.u16 q0, [r1, #16]!\n"
                     "vmladava.s16 r6, q1, q4\n"
                     "vldrh.u16 q2, [r9, #16]!\n"
                     "vmladava.s16 r8, q2, q3\n"
                     "vmladava.s16 r10, q2, q4\n"
                     "le lr, 3b\n"
                     "4:\n"
                     "vpsttt\n"
                     "vldrht.u16 q0, [r1]\n"
                     "vldrht.u16 q1, [r3, #16]!\n"
                     "vldrht.u16 q2, [r9, #16]!\n"
                     "vldrb.s16 q3, [r7, #32]!\n"
                     "vmladava.s16 r0, q0, q3\n"
                     "vldrb.s16 q4, [r7, #16]\n"
                     "vmladava.s16 r2, q0, q4\n"
                     "vmladava.s16 r4, q1, q3\n"
                     "vmov q5[3], q5[1], r0, r2\n"
                     "vmladava.s16 r6, q1, q4\n"
                     "vldrw.32 q0, [r7, #24]\n"
                     "vmladava.s16 r8, q2, q3\n"
                     "ldrd r0, r2, [r11, %[multiplier]]\n"
                     "vmladava.s16 r10, q2, q4\n"
                     "vmov q6[3], q6[1], r4, r6\n"
                     "vldrw.32 q1, [r0], #16\n"
                     "vadd.i32 q5, q5, q0\n"
                     "vldrb.u32 q2, [r2], #4\n"
                     "vshl.i32 q1, q1, #8\n"
                     "strd r0, r2, [r11, %[multiplier]]\n"
                     "vneg.s32 q2, q2\n"
                     "mov r4, #24\n"
                     "vadd.i32 q6, q6, q0\n"
                     "vmov q7[3], q7[1], r8, r10\n"
                     "vadd.i32 q2, q2, r4\n"
                     "vmulh.s32 q5, q5, q1\n"
                     "vadd.i32 q7, q7, q0\n"
                     "vldrw.32 q3, [r11, %[qmin]]\n"
                     "vmulh.s32 q6, q6, q1\n"
                     "vrshl.s32 q5, q5, q2\n"
                     "vmulh.s32 q7, q7, q1\n"
                     "vldrw.32 q4, [r11, %[qmax]]\n"
                     "vrshl.s32 q6, q6, q2\n"
                     "ldrd r2, r4, [r11, %[out_step]]\n"
                     "vrshl.s32 q7, q7, q2\n"
                     "add r6, r5, r2\n"
                     "vmax.s32 q5, q5, q3\n"
                     "add r2, r6\n"
                     "vmax.s32 q6, q6, q3\n"
                     "ldr r8, [r11, %[w] + 4]\n"
                     "vmin.s32 q5, q5, q4\n"
                     "add r7, r8\n"
                     "vstrh.32 q5, [r5], #8\n"
                     "vmin.s32 q6, q6, q4\n"
                     "cmp r5, r4\n"
                     "vmax.s32 q7, q7, q3\n"
                     "vstrh.32 q6, [r6]\n"
                     "vmin.s32 q7, q7, q4\n"
                     "vstrh.32 q7, [r2]\n"
                     "bne 0b\n"
                     : "+r"(at)
                     : OFFSETS
                     : ALL_REGISTERS);
}

/* One row. */
static __attribute__((noinline)) void row_1(job *j)
{
    register job *at __asm__("r11") = j;
    __asm__ volatile("ldr r10, [r11, %[a]]\n"
                     "ldrd r7, r8, [r11, %[w]]\n"
                     "ldr r3, [r11, %[out]]\n"
                     "ldr r9, [r11, %[out_end]]\n"
                     "ldrd r12, r0, [r11, %[chunks]]\n"
                     "ldrd r5, r1, [r11, %[multiplier]]\n"
                     "vldrw.32 q6, [r11, %[qmin]]\n"
                     "vldrw.32 q7, [r11, %[qmax]]\n"
                     "add r8, r8\n" /* from the first chunk of a block to the last one of the next */
                     "sub r8, #32\n"
                     "vctp.16 r0\n"
                     "0:\n"
                     "vldrw.32 q5, [r7, #32]\n"
                     "vpst\n"
                     "vldrht.u16 q0, [r10]\n"
                     "vldrb.s16 q1, [r7]\n"
                     PRODUCTS_4("vmladav.s16", "vldrb.s16", "8", "16", "24")
                     "wls lr, r12, 2f\n"
                     "1:\n"
                     "vldrh.u16 q0, [r10, #-16]!\n"
                     "vldrb.s16 q1, [r7, #-32]!\n"
                     PRODUCTS_4("vmladava.s16", "vldrb.s16", "8", "16", "24")
                     "le lr, 1b\n"
                     "2:\n"
                     "vmov q0[2], q0[0], r0, r4\n"
                     "vldrw.32 q1, [r5], #16\n"
                     "vmov q0[3], q0[1], r2, r6\n"
                     "vldrb.u32 q2, [r1], #4\n"
                     "vadd.i32 q5, q5, q0\n"
                     "mov r0, #24\n"
                     "vshl.i32 q1, q1, #8\n"
                     "vneg.s32 q2, q2\n"
                     "vmulh.s32 q5, q5, q1\n"
                     "add r10, r10, r12, lsl #4\n"
                     "vadd.i32 q2, q2, r0\n"
                     "add r7, r8\n"
                     "vrshl.s32 q5, q5, q2\n"
                     "vmax.s32 q5, q5, q6\n"
                     "vmin.s32 q5, q5, q7\n"
                     "vstrh.32 q5, [r3], #8\n"
                     "cmp r3, r9\n"
                     "bne 0b\n"
                     : "+r"(at)
                     : OFFSETS
                     : ALL_REGISTERS);
}

/* clang-format on */

#define ELEMENT int16_t
#define SHIFT   uint8_t
#include "gemm_rows.h"

static const int8_t *first_block(const ek_gemm_s16 *g)
{
    return (const int8_t *)g->weights + sizeof(ek_mve_gemm16);
}

/* Field by field: an initializer would call memset for the rest of them. */
static void set_columns(job *j, int16_t *out, const int16_t *a, const ek_gemm_s16 *g, size_t first)
{
    const size_t block = first / EK_MVE_COLUMNS, last = j->chunks * EK_MVE_DEPTH16;
    j->a = a + last;
    j->w = first_block(g) + block * ek_mve_gemm_block16(g->k) + last * EK_MVE_COLUMNS;
    j->out = out + first;
    j->multiplier = g->requant.multiplier + first;
    j->shift = g->requant.shift + first;
}

/* Sums in 64 bits, and any shift. */
static void one_by_one(int16_t *out, size_t out_step, const int16_t *a, size_t a_step, size_t rows,
                       const ek_gemm_s16 *g)
{
    const ek_requant16 *const r = &g->requant;
    for (size_t j = 0; j < g->n; j++) {
        const int8_t *const column =
            first_block(g) + j / EK_MVE_COLUMNS * ek_mve_gemm_block16(g->k) + j % EK_MVE_COLUMNS * EK_MVE_DEPTH16;
        for (size_t row = 0; row < rows; row++) {
            const int16_t *x = a + row * a_step;
            const int8_t *w = column;
            int64_t sum = r->bias[j];
            for (uint32_t left = g->k; left; x += EK_MVE_DEPTH16, w += EK_MVE_COLUMNS * EK_MVE_DEPTH16) {
                sum = vmlaldavaq_s16(sum, vldrhq_z_s16(x, vctp16q(left)), vldrbq_s16(w));
                left -= left < EK_MVE_DEPTH16 ? left : EK_MVE_DEPTH16;
            }
            out[row * out_step + j] = ek_requantize16(sum, r->multiplier[j], r->shift[j], r->qmin, r->qmax);
        }
    }
}

static bool is_fast(const ek_gemm_s16 *g)
{
    const ek_mve_gemm16 *const header = g->weights;
    const uint8_t *shift = g->requant.shift;
    uint8_t least = header->wide ? 0 : LEAST_SHIFT;
    for (uint32_t left = g->n; left; shift += 16) {
        least = vminvq_p_u8(least, vldrbq_z_u8(shift, vctp8q(left)), vctp8q(left));
        left -= left < 16 ? left : 16;
    }
    return least >= LEAST_SHIFT;
}

void ek_mve_gemm_s16(int16_t *out, size_t out_step, const int16_t *a, size_t a_step, size_t rows, const ek_gemm_s16 *g)
{
    const size_t blocks = g->n / EK_MVE_COLUMNS, whole = blocks * EK_MVE_COLUMNS;
    if (!is_fast(g)) {
        one_by_one(out, out_step, a, a_step, rows, g);
        return;
    }
    job j;
    j.a_step = a_step * sizeof *a;
    j.out_step = out_step * sizeof *out;
    j.chunks = ek_mve_chunks16(g->k) - 1;
    j.tail = g->k - j.chunks * EK_MVE_DEPTH16;
    j.w_step = (j.chunks + 1) * EK_MVE_DEPTH16 * EK_MVE_COLUMNS + EK_MVE_DEPTH16;
    vst1q_s32(j.qmin, vdupq_n_s32(g->requant.qmin));
    vst1q_s32(j.qmax, vdupq_n_s32(g->requant.qmax));
    if (blocks) {
        set_columns(&j, out, a, g, 0);
        all_rows(&j, rows, blocks);
    }
    if (g->n == whole) return;
    set_columns(&j, out, a, g, whole);
    last_columns(&j, rows, g->n - whole);
}

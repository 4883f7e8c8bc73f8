/* gemm_s8 on vmladava: 16 products and their sum in one instruction. Sums lie in even general
 * registers, as it demands, which leaves none to the compiler: whole loops are assembly. 4 channels
 * of a row are one vector when they are requantized. */
#include "gemm_loops.h"
#include "kernels.h"
#include "requant.h"

/* Some rows by some blocks. The rows and the first block are given by their last chunk of k, which
 * alone may be short. */
typedef struct job {
    const int8_t *a;
    size_t a_step;
    const int8_t *w;
    size_t w_step; /* bytes of a block's weights */
    int8_t *out;
    size_t out_step;
    const int8_t *out_end; /* of the first row */
    size_t chunks, tail;   /* chunks before the last one; elements of the last one */
    const int32_t *multiplier;
    const int8_t *shift;
    int32_t any_left, zero_point;
    int32_t qmin[4], qmax[4];
} job;

#define OFFSETS                                                                                                       \
    AT(a), AT(w), AT(w_step), AT(out), AT(out_end), AT(out_step), AT(chunks), AT(multiplier), AT(any_left), AT(qmin), \
        AT(qmax)

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
                     "vctp.8 r0\n"
                     "0:\n"
                     "vpsttt\n"
                     "vldrbt.8 q2, [r9]\n"
                     "vldrbt.8 q0, [r1]\n"
                     "vldrbt.8 q1, [r3]\n"
                     "vldrb.8 q3, [r7]\n"
                     "vmladav.s8 r8, q2, q3\n"
                     "vldrb.8 q4, [r7, #32]\n"
                     "vmladav.s8 r10, q2, q4\n"
                     "vmladav.s8 r0, q0, q3\n"
                     "vldrb.8 q2, [r9, #-16]!\n"
                     "vmladav.s8 r2, q0, q4\n"
                     "vmladav.s8 r4, q1, q3\n"
                     "vmladav.s8 r6, q1, q4\n"
                     "wls lr, r12, 2f\n"
                     "1:\n"
                     "vldrb.8 q3, [r7, #-64]!\n"
                     "vmladava.s8 r8, q2, q3\n"
                     "vldrb.8 q4, [r7, #32]\n"
                     "vmladava.s8 r10, q2, q4\n"
                     "vldrb.8 q0, [r1, #-16]!\n"
                     "vmladava.s8 r0, q0, q3\n"
                     "vldrb.8 q2, [r9, #-16]!\n"
                     "vmladava.s8 r2, q0, q4\n"
                     "vldrb.8 q1, [r3, #-16]!\n"
                     "vmladava.s8 r4, q1, q3\n"
                     "vmladava.s8 r6, q1, q4\n"
                     "le lr, 1b\n"
                     "2:\n"
                     "vldrb.8 q3, [r7, #16]!\n"
                     "vmov q5[2], q5[0], r0, r2\n"
                     "vmladav.s8 r0, q0, q3\n"
                     "vldrb.8 q4, [r7, #32]\n"
                     "vmov q6[2], q6[0], r4, r6\n"
                     "vmladav.s8 r2, q0, q4\n"
                     "vldrb.8 q2, [r9, #16]!\n"
                     "vmov q7[2], q7[0], r8, r10\n"
                     "vmladav.s8 r4, q1, q3\n"
                     "vldrb.8 q0, [r1, #16]!\n"
                     "vmladav.s8 r6, q1, q4\n"
                     "sub lr, r12, #1\n"
                     "vmladav.s8 r8, q2, q3\n"
                     "vmladav.s8 r10, q2, q4\n"
                     "wls lr, lr, 4f\n"
                     "3:\n"
                     "vldrb.8 q3, [r7, #64]!\n"
                     "vmladava.s8 r0, q0, q3\n"
                     "vldrb.8 q4, [r7, #32]\n"
                     "vmladava.s8 r2, q0, q4\n"
                     "vldrb.8 q1, [r3, #16]!\n"
                     "vmladava.s8 r4, q1, q3\n"
                     "vldrb.8 q0, [r1, #16]!\n"
                     "vmladava.s8 r6, q1, q4\n"
                     "vldrb.8 q2, [r9, #16]!\n"
                     "vmladava.s8 r8, q2, q3\n"
                     "vmladava.s8 r10, q2, q4\n"
                     "le lr, 3b\n"
                     "4:\n"
                     "vpsttt\n"
                     "vldrbt.8 q0, [r1]\n"
                     "vldrbt.8 q1, [r3, #16]!\n"
                     "vldrbt.8 q2, [r9, #16]!\n"
                     "vldrb.8 q3, [r7, #64]!\n"
                     "vmladava.s8 r0, q0, q3\n"
                     "vldrb.8 q4, [r7, #32]\n"
                     "vmladava.s8 r2, q0, q4\n"
                     "vmladava.s8 r4, q1, q3\n"
                     "vmov q5[3], q5[1], r0, r2\n"
                     "vmladava.s8 r6, q1, q4\n"
                     "vldrw.32 q0, [r7, #48]\n"
                     "vmladava.s8 r8, q2, q3\n"
                     "ldrd r0, r2, [r11, %[multiplier]]\n"
                     "vmladava.s8 r10, q2, q4\n"
                     "vmov q6[3], q6[1], r4, r6\n"
                     "vldrw.32 q1, [r0], #16\n"
                     "vadd.i32 q5, q5, q0\n"
                     "vldrb.s32 q2, [r2], #4\n"
                     "vadd.i32 q6, q6, q0\n"
                     "vmov q7[3], q7[1], r8, r10\n"
                     "strd r0, r2, [r11, %[multiplier]]\n"
                     "vadd.i32 q7, q7, q0\n"
                     "ldrd r2, r0, [r11, %[any_left]]\n"
                     "cbz r2, 6f\n"
                     "vmov.i32 q3, #0\n"
                     "vmax.s32 q0, q2, q3\n"
                     "vmin.s32 q2, q2, q3\n"
                     "vshl.s32 q5, q5, q0\n"
                     "vshl.s32 q6, q6, q0\n"
                     "vshl.s32 q7, q7, q0\n"
                     "6:\n"
                     "vqrdmulh.s32 q5, q5, q1\n"
                     "vldrw.32 q3, [r11, %[qmin]]\n"
                     "vqrdmulh.s32 q6, q6, q1\n"
                     "vrshl.s32 q5, q5, q2\n"
                     "vqrdmulh.s32 q7, q7, q1\n"
                     "vadd.i32 q5, q5, r0\n"
                     "vldrw.32 q4, [r11, %[qmax]]\n"
                     "vrshl.s32 q6, q6, q2\n"
                     "ldrd r2, r4, [r11, %[out_step]]\n"
                     "vrshl.s32 q7, q7, q2\n"
                     "add r6, r5, r2\n"
                     "vadd.i32 q6, q6, r0\n"
                     "vmax.s32 q5, q5, q3\n"
                     "add r2, r6\n"
                     "vadd.i32 q7, q7, r0\n"
                     "ldr r8, [r11, %[w_step]]\n"
                     "vmin.s32 q5, q5, q4\n"
                     "add r7, r8\n"
                     "vmax.s32 q6, q6, q3\n"
                     "vstrb.32 q5, [r5], #4\n"
                     "vmin.s32 q6, q6, q4\n"
                     "cmp r5, r4\n"
                     "vmax.s32 q7, q7, q3\n"
                     "vstrb.32 q6, [r6]\n"
                     "vmin.s32 q7, q7, q4\n"
                     "vstrb.32 q7, [r2]\n"
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
                     "sub r8, #48\n"
                     "vctp.8 r0\n"
                     "0:\n"
                     "vldrw.32 q5, [r7, #64]\n"
                     "vpst\n"
                     "vldrbt.8 q0, [r10]\n"
                     "vldrb.8 q1, [r7]\n"
                     PRODUCTS_4("vmladav.s8", "vldrb.8", "16", "32", "48")
                     "wls lr, r12, 2f\n"
                     "1:\n"
                     "vldrb.8 q0, [r10, #-16]!\n"
                     "vldrb.8 q1, [r7, #-64]!\n"
                     PRODUCTS_4("vmladava.s8", "vldrb.8", "16", "32", "48")
                     "le lr, 1b\n"
                     "2:\n"
                     "vmov q0[2], q0[0], r0, r4\n"
                     "vldrw.32 q1, [r5], #16\n"
                     "vmov q0[3], q0[1], r2, r6\n"
                     "vldrb.s32 q2, [r1], #4\n"
                     "vadd.i32 q5, q5, q0\n"
                     "ldrd r2, r0, [r11, %[any_left]]\n"
                     "cbz r2, 6f\n"
                     "vmov.i32 q3, #0\n"
                     "vmax.s32 q0, q2, q3\n"
                     "vmin.s32 q2, q2, q3\n"
                     "vshl.s32 q5, q5, q0\n"
                     "6:\n"
                     "vqrdmulh.s32 q5, q5, q1\n"
                     "add r10, r10, r12, lsl #4\n"
                     "vrshl.s32 q5, q5, q2\n"
                     "add r7, r8\n"
                     "vadd.i32 q5, q5, r0\n"
                     "vmax.s32 q5, q5, q6\n"
                     "vmin.s32 q5, q5, q7\n"
                     "vstrb.32 q5, [r3], #4\n"
                     "cmp r3, r9\n"
                     "bne 0b\n"
                     : "+r"(at)
                     : OFFSETS
                     : ALL_REGISTERS);
}

/* One chunk of k and int8's own clamp: a block's weights stay in q0 to q3 for all rows. */
static void short_block(job *j, size_t rows)
{
    register job *at __asm__("r11") = j;
    register size_t count __asm__("r12") = rows;
    __asm__ volatile("ldrd r1, r3, [r11, %[a]]\n"
                     "ldr r5, [r11, %[w]]\n"
                     "ldrd r7, r8, [r11, %[out]]\n"
                     "ldrd r0, r2, [r11, %[multiplier]]\n"
                     "vldrb.8 q0, [r5]\n"
                     "vldrb.8 q1, [r5, #16]\n"
                     "vldrb.8 q2, [r5, #32]\n"
                     "vldrb.8 q3, [r5, #48]\n"
                     "vldrw.32 q5, [r5, #64]\n"
                     "vldrw.32 q6, [r0]\n"
                     "vldrb.s32 q7, [r2]\n"
                     "ldr r0, [r11, %[tail]]\n"
                     "ldr r10, [r11, %[zero_point]]\n"
                     "vctp.8 r0\n"
                     "dls lr, r12\n"
                     "1:\n"
                     "vpst\n"
                     "vldrbt.8 q4, [r1]\n"
                     "vmladav.s8 r0, q4, q0\n"
                     "add r1, r3\n"
                     "vmladav.s8 r4, q4, q2\n"
                     "vmladav.s8 r2, q4, q1\n"
                     "vmladav.s8 r6, q4, q3\n"
                     "vmov q4[2], q4[0], r0, r4\n"
                     "vmov q4[3], q4[1], r2, r6\n"
                     "vadd.i32 q4, q4, q5\n"
                     "vqrdmulh.s32 q4, q4, q6\n"
                     "vrshl.s32 q4, q4, q7\n"
                     "vadd.i32 q4, q4, r10\n"
                     "vqmovnb.s32 q4, q4\n"
                     "vqmovnb.s16 q4, q4\n"
                     "vstrb.32 q4, [r7]\n"
                     "add r7, r8\n"
                     "le lr, 1b\n"
                     : "+r"(at), "+r"(count)
                     : OFFSETS, AT(tail), AT(zero_point)
                     : "r0", "r1", "r2", "r3", "r4", "r5", "r6", "r7", "r8", "r10", "lr", "cc", "q0", "q1", "q2", "q3",
                       "q4", "q5", "q6", "q7", "memory");
}

/* clang-format on */

static bool is_short(const job *j)
{
    return !j->chunks && !j->any_left && j->qmin[0] == INT8_MIN && j->qmax[0] == INT8_MAX;
}

#define ELEMENT int8_t
#define SHIFT   int8_t
#include "gemm_rows.h"

static void whole_columns(job *j, size_t rows, size_t blocks)
{
    if (!is_short(j)) {
        all_rows(j, rows, blocks);
        return;
    }
    for (; blocks; blocks--, j->w += j->w_step + sizeof j->qmin, j->multiplier += 4, j->shift += 4, j->out += 4)
        short_block(j, rows);
}

/* Field by field: an initializer would call memset for the rest of them. */
static void set_columns(job *j, int8_t *out, const int8_t *a, const ek_gemm_s8 *g, size_t first)
{
    const size_t block = first / EK_MVE_COLUMNS, last = j->chunks * EK_MVE_DEPTH;
    j->a = a + last;
    j->w = (const int8_t *)g->weights + block * ek_mve_gemm_block(g->k) + last * EK_MVE_COLUMNS;
    j->out = out + first;
    j->multiplier = g->requant.multiplier + first;
    j->shift = g->requant.shift + first;
}

void ek_mve_gemm_s8(int8_t *out, size_t out_step, const int8_t *a, size_t a_step, size_t rows, const ek_gemm_s8 *g)
{
    const ek_requant *const q = &g->requant;
    const size_t blocks = g->n / EK_MVE_COLUMNS, whole = blocks * EK_MVE_COLUMNS;
    job j;
    j.a_step = a_step;
    j.out_step = out_step;
    j.chunks = ek_mve_chunks(g->k) - 1;
    j.tail = g->k - j.chunks * EK_MVE_DEPTH;
    j.w_step = (j.chunks + 1) * EK_MVE_DEPTH * EK_MVE_COLUMNS;
    j.any_left = ek_mve_any_left(q->shift, g->n);
    j.zero_point = q->zero_point;
    vst1q_s32(j.qmin, vdupq_n_s32(q->qmin));
    vst1q_s32(j.qmax, vdupq_n_s32(q->qmax));
    if (blocks) {
        set_columns(&j, out, a, g, 0);
        whole_columns(&j, rows, blocks);
    }
    if (g->n == whole) return;
    set_columns(&j, out, a, g, whole);
    last_columns(&j, rows, g->n - whole);
}

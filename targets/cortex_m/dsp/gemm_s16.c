/* Three rows at a time: two inputs of each in turn go to a buffer, which is multiplied with pairs of
 * channels; see gemm_s16.h for the weights. Blocks of k add to sums of a block of channels. */
#include <stdbool.h>
#include <string.h>

#include "gemm_s16.h"
#include "kernels.h"
#include "../requant16.h"

enum {
    ROWS = 3,
    WORDS = 144, /* of inputs: 96 of k for three rows, 288 for one; so many products fit int32 */
    SUMS = 96,
    WIDE_SUMS = SUMS / 3
};

typedef struct product {
    const ek_gemm_s16 *g;
    int16_t *out;
    const int16_t *a;
    size_t out_step, a_step, rows; /* rows: 3 or 1 */
} product;

typedef struct buffer {
    uint32_t x[WORDS];
    union {
        int32_t sums[SUMS]; /* [pairs][2][rows] */
        struct {
            int32_t part[WIDE_SUMS];
            int64_t sums[WIDE_SUMS];
        } wide;
    };
} buffer;

static uint32_t *take_rows(uint32_t *x, const int16_t *a, size_t step, size_t k)
{
    if (k > 1)
        __asm__ volatile("1:\n"
                         "ldr r5, [%[a], %[step]]\n"
                         "ldr r6, [%[a], %[step], lsl #1]\n"
                         "ldr r4, [%[a]], #4\n"
                         "cmp %[a], %[end]\n"
                         "stm %[x]!, {r4, r5, r6}\n"
                         "bne 1b\n"
                         : [x] "+l"(x), [a] "+r"(a)
                         : [step] "r"(step * 2), [end] "r"(a + k / 2 * 2)
                         : "r4", "r5", "r6", "cc", "memory");
    if (k % 2) {
        for (size_t row = 0; row < ROWS; row++) *x++ = (uint16_t)a[row * step];
        k++;
    }
    for (size_t i = 0; k % 4 && i < ROWS; i++) *x++ = 0;
    return x;
}

static uint32_t *take_row(uint32_t *x, const int16_t *a, size_t k)
{
    uint32_t *const end = x + (k + 7) / 8 * 4;
    memset(end - 4, 0, 16);
    memcpy(x, a, k * 2);
    return end;
}

/* One block of k, from i on, for channels [first, first + count). */
static void multiply(const product *p, buffer *b, size_t i, size_t k, size_t first, size_t count, const uint32_t *x_end)
{
    const size_t steps = (k + 3) / 4, skip = (0 - steps) % EK_DSP_UNROLLED_STEPS16;
    const size_t pair_bytes = ek_dsp_pair_bytes16(p->g->k);
    ek_dsp_job16 job;
    job.x = b->x;
    job.x_end = x_end;
    job.enter = (const void *)(((uintptr_t)ek_dsp_steps16 + skip * EK_DSP_STEP_BYTES16) | 1);
    job.sums = b->sums;
    job.w = (const uint8_t *)p->g->weights + sizeof(ek_dsp_gemm16) + first / 2 * pair_bytes + i * 2;
    job.w_gap = pair_bytes - (p->rows == ROWS ? steps * 8 : 0);
    job.pairs = (count + 1) / 2;
    if (p->rows == ROWS)
        ek_dsp_pairs16_3(&job);
    else
        ek_dsp_pairs16_1(&job);
}

static __attribute__((noinline)) int16_t requantize(const ek_requant16 *r, size_t j, int64_t sum)
{
    return ek_requantize16(r->bias[j] + sum, r->multiplier[j], r->shift[j], r->qmin, r->qmax);
}

static void finish(const product *p, const int32_t *sums, size_t first, size_t count)
{
    const ek_requant16 *const r = &p->g->requant;
    const size_t step = p->out_step;
    const int32_t qmin = r->qmin, qmax = r->qmax;
    for (size_t j = first; j < first + count; j++) {
        const int32_t *const end = sums + p->rows;
        int16_t *out = p->out + j;
        if (!ek_m_is_usual16(r->shift[j])) {
            for (; sums != end; out += step) *out = requantize(r, j, *sums++);
            continue;
        }
        const uint32_t bias = (uint32_t)r->bias[j];
        const ek_m_ratio16 ratio = ek_m_ratio16_from(r->multiplier[j], r->shift[j]);
        do {
            *out = ek_m_scale16((int32_t)(bias + (uint32_t)*sums++), ratio, qmin, qmax);
            out += step;
        } while (sums != end);
    }
}

/* One row, of a sum for each channel. */
static __attribute__((noinline)) void finish_row(const product *p, const int32_t *sums, size_t first, size_t count)
{
    const ek_requant16 *const r = &p->g->requant;
    const int32_t *const bias = r->bias + first, *multiplier = r->multiplier + first, *const end = bias + count;
    const uint8_t *shift = r->shift + first;
    const int32_t qmin = r->qmin, qmax = r->qmax;
    int16_t *out = p->out + first;
    for (const int32_t *at = bias; at != end; shift++, multiplier++) {
        const int32_t sum = *sums++;
        if (ek_m_is_usual16(*shift)) {
            const ek_m_ratio16 ratio = ek_m_ratio16_from(*multiplier, *shift);
            *out++ = ek_m_scale16((int32_t)((uint32_t)*at++ + (uint32_t)sum), ratio, qmin, qmax);
        } else {
            *out++ = requantize(r, (size_t)(at++ - r->bias), sum);
        }
    }
}

static void finish_wide(const product *p, const int64_t *sums, size_t first, size_t count)
{
    for (size_t j = first; j < first + count; j++)
        for (size_t row = 0; row < p->rows; row++)
            p->out[row * p->out_step + j] = requantize(&p->g->requant, j, *sums++);
}

static const uint32_t *take(const product *p, uint32_t *x, size_t i, size_t k)
{
    return p->rows == ROWS ? take_rows(x, p->a + i, p->a_step, k) : take_row(x, p->a + i, k);
}

/* Blocks of about equal length. */
static size_t block_length(size_t all, size_t most, size_t multiple)
{
    const size_t blocks = (all + most - 1) / most, length = (all + blocks - 1) / blocks;
    return (length + multiple - 1) / multiple * multiple;
}

/* Sums that may not fit int32: those of each block of k are added up in 64 bits. */
static __attribute__((noinline)) void multiply_wide(const product *p, buffer *b, size_t length, size_t columns)
{
    const ek_gemm_s16 *g = p->g;
    for (size_t first = 0, count; first < g->n; first += count) {
        count = g->n - first < columns ? g->n - first : columns;
        memset(&b->wide, 0, sizeof b->wide);
        for (size_t i = 0, now; i < g->k; i += now) {
            now = g->k - i < length ? g->k - i : length;
            multiply(p, b, i, now, first, count, take(p, b->x, i, now));
            for (size_t s = 0; s < WIDE_SUMS; s++) b->wide.sums[s] += b->wide.part[s];
            memset(b->wide.part, 0, sizeof b->wide.part);
        }
        finish_wide(p, b->wide.sums, first, count);
    }
}

static void multiply_rows(const product *p, buffer *b, size_t length, size_t columns)
{
    const ek_gemm_s16 *g = p->g;
    const uint32_t *x_end = b->x;
    for (size_t first = 0, count; first < g->n; first += count) {
        count = g->n - first < columns ? g->n - first : columns;
        memset(b->sums, 0, (count + 1) / 2 * 2 * p->rows * sizeof *b->sums);
        for (size_t i = 0, now; i < g->k; i += now) {
            now = g->k - i < length ? g->k - i : length;
            if (!first || length < g->k) x_end = take(p, b->x, i, now);
            multiply(p, b, i, now, first, count, x_end);
        }
        if (p->rows == 1)
            finish_row(p, b->sums, first, count);
        else
            finish(p, b->sums, first, count);
    }
}

void ek_dsp_gemm_s16(int16_t *out, size_t out_step, const int16_t *a, size_t a_step, size_t rows, const ek_gemm_s16 *g)
{
    const ek_dsp_gemm16 *header = g->weights;
    product p = { g, NULL, NULL, out_step, a_step, rows < ROWS ? 1 : ROWS };
    const size_t length = block_length(g->k, WORDS * 2 / p.rows, 8);
    const size_t most = (header->wide ? WIDE_SUMS : SUMS) / p.rows / 2 * 2, columns = block_length(g->n, most, 2);
    buffer b;
    for (size_t row = 0; row < rows; row += p.rows) {
        const size_t at = row + p.rows <= rows ? row : rows - p.rows; /* the last rows may be done twice */
        p.out = out + at * out_step;
        p.a = a + at * a_step;
        if (header->wide)
            multiply_wide(&p, &b, length, columns);
        else
            multiply_rows(&p, &b, length, columns);
    }
}

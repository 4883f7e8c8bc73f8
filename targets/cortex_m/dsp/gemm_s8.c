/* Three rows at a time, spread to 16 bits in a buffer once and then multiplied with every pair of
 * channels; see pack.c for the layout of the weights. Longer rows go in blocks, with partial sums
 * of a block of channels. */
#include <stdbool.h>
#include <string.h>

#include "edgekit/kernels.h"
#include "fixed_point.h"
#include "gemm_s8.h"
#include "halves.h"
#include "kernels.h"

enum {
    ROWS = 3,
    WORDS = 216,       /* of spread inputs: 144 of k for three rows, 432 for one */
    BLOCK_WORDS = 120, /* where the rest holds sums: 80 of k for three rows */
    SUMS = WORDS - BLOCK_WORDS,
};

typedef struct buffer {
    int32_t correction[4]; /* -128 * the sum of a row: pack.c added 128 to the weights b */
    uint32_t x[WORDS];
} buffer;

typedef struct product {
    const ek_gemm_s8 *g;
    int8_t *out;
    size_t out_step, a_step, rows; /* rows: 3 or 1 */
    bool fast;
} product;

/* The last step of one row reads up to 16. */
static size_t longest(size_t words, size_t rows)
{
    return rows == ROWS ? words / ROWS * 2 / 4 * 4 : words / 8 * 16;
}

/* Blocks of about equal length. */
static size_t block_length(size_t k, size_t most)
{
    const size_t blocks = (k + most - 1) / most;
    return ((k + blocks - 1) / blocks + 3) / 4 * 4;
}

static size_t row_bytes(const ek_gemm_s8 *g)
{
    return (g->k / 4 + (g->k % 4 != 0)) * (size_t)8;
}

/* The last 1 to 3 inputs of a row, behind them zeros. */
static uint32_t last_inputs(const int8_t *a, size_t k)
{
    const size_t rest = k % 4;
    uint32_t four = 0;
    if (k > 4) {
        memcpy(&four, a + k - 4, 4);
        return four >> 8 * (4 - rest);
    }
    for (size_t i = 0; i < rest; i++) four |= (uint32_t)(uint8_t)a[k - rest + i] << 8 * i;
    return four;
}

static const uint32_t *spread_rows(buffer *to, const int8_t *a, size_t step, size_t k)
{
    uint32_t *x = to->x;
    to->correction[0] = to->correction[1] = to->correction[2] = 0;
    if (k / 4) x = ek_dsp_spread_3(to->correction, a, step, k / 4, x);
    if (k % 4) {
        uint32_t last[ROWS];
        for (size_t row = 0; row < ROWS; row++) last[row] = last_inputs(a + row * step, k);
        x = ek_dsp_spread_3(to->correction, (const int8_t *)last, 4, 1, x);
    }
    return x;
}

/* Returns the sum of four inputs and `sum`. */
static inline int32_t spread_four(uint32_t *x, uint32_t four, int32_t sum)
{
    x[0] = ek_dsp_even(four);
    x[1] = ek_dsp_odd(four);
    return ek_dsp_halves(x[0], ek_dsp_halves(x[1], sum));
}

static const uint32_t *spread_row(buffer *to, const int8_t *a, size_t k)
{
    uint32_t *x = to->x, *const end = x + (k + 15) / 16 * 8;
    int32_t sum = 0;
    for (const int8_t *at = a, *const last = a + k / 4 * 4; at != last; at += 4, x += 2) {
        uint32_t four;
        memcpy(&four, at, 4);
        sum = spread_four(x, four, sum);
    }
    if (k % 4) {
        sum = spread_four(x, last_inputs(a, k), sum);
        x += 2;
    }
    while (x < end) *x++ = 0;
    to->correction[0] = -128 * sum;
    return end;
}

/* Where the sums of channel j are. */
static int32_t *sums_of(int32_t *sums, size_t j, size_t rows)
{
    return sums + (j & ~(size_t)1) * rows + (j % 2 ? 0 : rows);
}

static void start_sums(const product *p, int32_t *sums, size_t first, size_t count)
{
    for (size_t j = 0; j < count; j++)
        for (size_t row = 0; row < p->rows; row++) sums_of(sums, j, p->rows)[row] = p->g->requant.bias[first + j];
}

static void finish_sums(const product *p, int32_t *sums, size_t first, size_t count)
{
    const ek_requant *r = &p->g->requant;
    for (size_t j = 0; j < count; j++)
        for (size_t row = 0; row < p->rows; row++)
            p->out[row * p->out_step + first + j] =
                ek_requantize(sums_of(sums, j, p->rows)[row], r->multiplier[first + j], r->shift[first + j],
                              r->zero_point, r->qmin, r->qmax);
}

/* One block of k for channels [first, first + count). */
static void multiply(const product *p, const int8_t *a, size_t k, size_t first, size_t count, ek_dsp_job *job,
                     buffer *x)
{
    const size_t steps = (k + 3) / 4, skip = (0 - steps) % EK_DSP_UNROLLED_STEPS;
    job->x_end = p->rows == ROWS ? spread_rows(x, a, p->a_step, k) : spread_row(x, a, k);
    job->bias = p->g->requant.bias + first;
    job->multiplier = p->g->requant.multiplier + first;
    job->shift = p->g->requant.shift + first;
    job->out = p->out + first;
    job->pairs = (count + 1) / 2;
    job->w_gap = row_bytes(p->g) - (p->rows == ROWS ? steps * 8 : 0);
    job->enter = (const void *)(((uintptr_t)ek_dsp_steps + skip * EK_DSP_STEP_BYTES) | 1);
    if (p->rows == ROWS)
        ek_dsp_pairs_3(job);
    else
        ek_dsp_pairs_1(job);
}

static void multiply_rows(const product *p, const int8_t *a)
{
    const ek_gemm_s8 *g = p->g;
    const uint8_t *const w = g->weights;
    buffer x;
    ek_dsp_job job = { .out_step = p->out_step, .offset = 2 * g->requant.zero_point + 1, .x = x.correction };
    size_t first = 0;
    if (p->fast && g->n > 1 && g->k <= longest(WORDS, p->rows)) { /* all at once but a single last channel */
        job.w = w;
        first = g->n & ~(size_t)1;
        multiply(p, a, g->k, 0, first, &job, &x);
    }
    int32_t *const sums = (int32_t *)x.x + BLOCK_WORDS;
    const size_t length = block_length(g->k, longest(BLOCK_WORDS, p->rows));
    for (size_t count; first < g->n; first += count) {
        count = g->n - first < SUMS / p->rows ? g->n - first : SUMS / p->rows;
        const bool finish = p->fast && count % 2 == 0;
        start_sums(p, sums, first, count);
        for (size_t i = 0, now; i < g->k; i += now) {
            now = g->k - i < length ? g->k - i : length;
            job.w = w + first / 2 * row_bytes(g) + i * 2;
            job.sums = sums;
            job.finish = finish && i + now == g->k;
            multiply(p, a + i, now, first, count, &job, &x);
        }
        if (!finish) finish_sums(p, sums, first, count);
    }
}

/* What the loops requantize: the clamp is int8's, and no shift is to the left, as is usual. */
static bool is_fast(const ek_requant *q, size_t n)
{
    const int8_t *shift = q->shift;
    uint32_t odd = q->qmin != INT8_MIN || q->qmax != INT8_MAX, signs = 0, four;
    for (; n >= 4; n -= 4, shift += 4) {
        memcpy(&four, shift, 4);
        signs |= ek_dsp_negated(four);
    }
    odd |= signs & 0x80808080;
    for (; n; n--, shift++) odd |= *shift > 0;
    return !odd;
}

void ek_dsp_gemm_s8(int8_t *out, size_t out_step, const int8_t *a, size_t a_step, size_t rows, const ek_gemm_s8 *g)
{
    product p = { g, NULL, out_step, a_step, rows < ROWS ? 1 : ROWS, is_fast(&g->requant, g->n) };
    for (size_t row = 0; row < rows; row += p.rows) {
        const size_t at = row + p.rows <= rows ? row : rows - p.rows; /* the last rows may be done twice */
        p.out = out + at * out_step;
        multiply_rows(&p, a + at * a_step);
    }
}

/* Three rows at a time, spread to 16 bits in a buffer once and then multiplied with every pair of
 * channels; see pack.c for the layout of the weights. Longer rows go in blocks, with partial sums
 * of a block of channels. */
#include <string.h>

#include "gemm_s8.h"
#include "kernels.h"
#include "requant.h"

enum {
    ROWS = 3,
    BLOCK = 72,                         /* of k, a multiple of 4, with three rows */
    WORDS = BLOCK / 2 * ROWS + 8,       /* of the buffer; with one row a multiple of 8 in use */
    BLOCK_1 = BLOCK * ROWS / 16 * 16,   /* of k with one row */
    SUMS = 96,                          /* partial sums: rows x channels */
};

typedef struct buffer {
    int32_t correction[4]; /* -128 * the sum of a row: pack.c added 128 to the weights b */
    uint32_t x[WORDS];
} buffer;

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* Blocks of about equal length. */
static size_t block_length(size_t k, size_t most)
{
    const size_t blocks = (k + most - 1) / most;
    return ((k + blocks - 1) / blocks + 3) / 4 * 4;
}

static void spread_3(buffer *to, const int8_t *a, size_t step, size_t k)
{
    const size_t fours = k / 4, rest = k % 4;
    uint32_t *x = to->x;
    memset(to->correction, 0, sizeof to->correction);
    if (fours) x = ek_dsp_spread_3(to->correction, a, step, fours, x);
    if (rest) {
        int8_t tail[4 * ROWS] = { 0 };
        for (size_t row = 0; row < ROWS; row++)
            for (size_t i = 0; i < rest; i++) tail[4 * row + i] = a[row * step + k - rest + i];
        ek_dsp_spread_3(to->correction, tail, 4, 1, x);
    }
}

static void requant_sums(int8_t *out, size_t step, const int32_t *sums, size_t rows, size_t channels,
                         const ek_dsp_requant *r, size_t first)
{
    for (size_t j = 0; j < channels; j++) {
        const int32_t *from = sums + (j & ~(size_t)1) * rows + (j % 2 ? 0 : rows);
        const ek_dsp_scale s = ek_dsp_scale_of(r, first + j);
        for (size_t row = 0; row < rows; row++) out[row * step + j] = ek_dsp_requantize(from[row], &s, r);
    }
}

/* Channels [first, first + count) of as many rows as there are sums for. */
static void bias_sums(int32_t *sums, const int32_t *bias, size_t rows, size_t count)
{
    for (size_t j = 0; j < count; j++, bias++) {
        int32_t *to = sums + (j & ~(size_t)1) * rows + (j % 2 ? 0 : rows);
        for (size_t row = 0; row < rows; row++) to[row] = *bias;
    }
}

static const uint8_t *weights_at(const ek_gemm_s8 *g, size_t channel, size_t i)
{
    return (const uint8_t *)g->weights + channel / 2 * ((g->k + 3u) / 4 * 8) + i * 2;
}

static void rows_3(int8_t *out, size_t out_step, const int8_t *a, size_t a_step, const ek_gemm_s8 *g,
                   const ek_dsp_requant *r)
{
    const size_t length = block_length(g->k, BLOCK), row_bytes = (g->k + 3u) / 4 * 8;
    const bool whole = length >= g->k;
    buffer x;
    int32_t sums[SUMS];
    for (size_t first = 0, count; first < g->n; first += count) {
        count = g->n - first;
        /* Without partial sums all pairs go at once; a last single channel is finished here. */
        const bool direct = whole && r->fast && count > 1;
        count = direct ? count & ~(size_t)1 : least(count, SUMS / ROWS);
        const bool finish = r->fast && count % 2 == 0;
        if (!direct) bias_sums(sums, g->requant.bias + first, ROWS, count);
        for (size_t i = 0, now; i < g->k; i += now) {
            now = least(length, g->k - i);
            const size_t fours = (now + 3) / 4;
            if (!whole || first == 0) spread_3(&x, a + i, a_step, now);
            ek_dsp_job job = {
                .bias = g->requant.bias + first,
                .multiplier = g->requant.multiplier + first,
                .shift = g->requant.shift + first,
                .out = out + first,
                .out_step = out_step,
                .offset = r->offset,
                .w = weights_at(g, first, i),
                .x = x.correction,
                .skip = (4 - fours % 4) % 4 * EK_DSP_STEP_BYTES,
                .sums = direct ? NULL : sums,
                .finish = finish && i + now == g->k,
                .w_gap = row_bytes - fours * 8,
                .pairs = (count + 1) / 2,
                .x_end = x.x + fours * 2 * ROWS,
            };
            ek_dsp_pairs_3(&job);
        }
        if (!finish) requant_sums(out + first, out_step, sums, ROWS, count, r, first);
    }
}

static int32_t spread_1(uint32_t *to, const int8_t *a, size_t k)
{
    uint32_t *const end = to + (k + 15) / 16 * 8;
    int32_t sum = 0;
    for (; k >= 4; k -= 4, a += 4, to += 2) {
        uint32_t four;
        memcpy(&four, a, 4);
        to[0] = ek_dsp_even(four);
        to[1] = ek_dsp_odd(four);
        sum = ek_dsp_halves(to[0], ek_dsp_halves(to[1], sum));
    }
    while (to < end) {
        uint32_t four = 0;
        for (size_t i = 0; i < k; i++) {
            four |= (uint32_t)(uint8_t)a[i] << 8 * i;
            sum += a[i];
        }
        k = 0;
        *to++ = ek_dsp_even(four);
        *to++ = ek_dsp_odd(four);
    }
    return -128 * sum;
}

static void row_1(int8_t *out, const int8_t *a, const ek_gemm_s8 *g, const ek_dsp_requant *r)
{
    const size_t length = block_length(g->k, BLOCK_1);
    uint32_t x[WORDS];
    int32_t sums[SUMS];
    for (size_t first = 0, count; first < g->n; first += count) {
        count = least(g->n - first, SUMS);
        bias_sums(sums, g->requant.bias + first, 1, count);
        for (size_t i = 0, now; i < g->k; i += now) {
            now = least(length, g->k - i);
            const int32_t correction = spread_1(x, a + i, now);
            const uint32_t *const end = x + (now + 15) / 16 * 8;
            for (size_t j = 0; j < count; j += 2) {
                sums[j + 1] += correction;
                ek_dsp_pair_1(x, weights_at(g, first + j, i), sums + j, end);
            }
        }
        requant_sums(out + first, 0, sums, 1, count, r, first);
    }
}

void ek_dsp_gemm_s8(int8_t *out, size_t out_step, const int8_t *a, size_t a_step, size_t rows, const ek_gemm_s8 *g)
{
    const ek_dsp_requant r = ek_dsp_requant_of(&g->requant, g->n);
    if (rows < ROWS) {
        for (size_t row = 0; row < rows; row++) row_1(out + row * out_step, a + row * a_step, g, &r);
        return;
    }
    for (size_t row = 0; row < rows; row += ROWS) {
        const size_t at = least(row, rows - ROWS); /* the last ones may be done twice */
        rows_3(out + at * out_step, out_step, a + at * a_step, a_step, g, &r);
    }
}

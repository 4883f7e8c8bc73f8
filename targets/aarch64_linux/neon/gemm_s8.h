/* What the int8 products of NEON, of dot products and of matrix products share: blocks of rows by a
 * stripe of one or two panels of 8 channels. A file that includes this says EK_GEMM_GROUP, the k that
 * the panels are padded to, and defines `at_in_group`, `block` and `sum_row`.
 *
 * Packed: a header of 16 bytes, bias [panels][8], then stripes of 16 channels (8 if no more are left):
 * [padded k / group][panels][8 * group], read from one end to the other. */
#ifndef EK_NEON_GEMM_S8_H
#define EK_NEON_GEMM_S8_H

#include "stream.h"

enum { PANEL = 8, STRIPE = 2 * PANEL, HEADER = 16 };

typedef struct columns {
    const int8_t *panel;
    const int32_t *bias;
    uint32_t part, k; /* k is whole parts, or one part with any tail */
    size_t part_step;
    uint32_t count; /* channels that exist of the stripe's */
    ek_channels16 channels;
    ek_output output;
} columns;

/* Where weight i < EK_GEMM_GROUP of channel j < 8 lies in a panel's group. */
static size_t at_in_group(uint32_t j, uint32_t i);

static size_t panels(uint32_t n)
{
    return ((size_t)n + PANEL - 1) / PANEL;
}

static size_t panel_bytes(uint32_t k)
{
    return ((size_t)k + EK_GEMM_GROUP - 1) / EK_GEMM_GROUP * EK_GEMM_GROUP * PANEL;
}

static size_t packed_bytes(uint32_t n, uint32_t k)
{
    return HEADER + panels(n) * (PANEL * sizeof(int32_t) + panel_bytes(k));
}

static void pack(void *packed, const int8_t *weights, const int32_t *bias, uint32_t n, uint32_t k)
{
    memset(packed, 0, packed_bytes(n, k));
    int8_t *const to_bias = (int8_t *)packed + HEADER;
    int8_t *const to = to_bias + panels(n) * PANEL * sizeof(int32_t);
    memcpy(to_bias, bias, n * sizeof *bias);
    for (uint32_t j = 0; j < n; j++) {
        const size_t first = j / STRIPE * STRIPE, wide = n - first > PANEL ? 2 : 1, panel = (j - first) / PANEL;
        int8_t *const stripe = to + first / PANEL * panel_bytes(k);
        for (uint32_t i = 0; i < k; i++)
            stripe[(i / EK_GEMM_GROUP * wide + panel) * PANEL * EK_GEMM_GROUP +
                   at_in_group(j % PANEL, i % EK_GEMM_GROUP)] = weights[(size_t)j * k + i];
    }
}

EK_INLINE const int32_t *bias_of(const ek_gemm_s8 *g)
{
    return (const int32_t *)(const void *)((const int8_t *)g->weights + HEADER);
}

EK_INLINE const int8_t *stripes_of(const ek_gemm_s8 *g)
{
    return (const int8_t *)g->weights + HEADER + panels(g->n) * PANEL * sizeof(int32_t);
}

/* What requantizes a stripe. */
typedef struct ending {
    ek_channels16 channels;
    ek_output output;
    uint32_t count;
} ending;

/* Constants that only the end of a block needs are not to take its registers. */
EK_INLINE ending ending_of(const columns *w)
{
    EK_FENCE();
    return (ending){ w->channels, w->output, w->count };
}

EK_INLINE void store_row(int8_t *out, int32x4_t acc[4], const ending *e, const int C, const bool whole)
{
    const ek_channels16 *const c = &e->channels;
#pragma GCC unroll 4
    for (int i = 0; i < 2 * C; i++) acc[i] = vrshlq_s32(vqrdmulhq_s32(acc[i], c->m[i]), c->right[i]);
    if (C == 1) {
        const int8x8_t q = ek_narrow8(acc[0], acc[1], &e->output);
        if (whole)
            vst1_s8(out, q);
        else
            ek_store_part16(out, vcombine_s8(q, q), e->count);
    } else {
        const int8x16_t q = ek_narrow16(acc[0], acc[1], acc[2], acc[3], &e->output);
        if (whole)
            vst1q_s8(out, q);
        else
            ek_store_part16(out, q, e->count);
    }
}

/* Requantizes and stores R rows of C panels. */
EK_INLINE void store_rows(int8_t *out, size_t out_step, int32x4_t (*acc)[4], const ending *e, const int R, const int C)
{
    if (e->channels.any_left) {
#pragma GCC unroll 8
        for (int r = 0; r < R; r++)
#pragma GCC unroll 4
            for (int i = 0; i < 2 * C; i++) acc[r][i] = vshlq_s32(acc[r][i], e->channels.left[i]);
    }
    if (e->count == (uint32_t)C * PANEL) {
#pragma GCC unroll 8
        for (int r = 0; r < R; r++, out += out_step) store_row(out, acc[r], e, C, true);
    } else {
#pragma GCC unroll 8
        for (int r = 0; r < R; r++, out += out_step) store_row(out, acc[r], e, C, false);
    }
}

/* The first of R rows, and of their next parts. */
EK_INLINE void rows_at(const int8_t *row[8], const int8_t *a, size_t a_step, const int R)
{
#pragma GCC unroll 8
    for (int r = 0; r < R; r++) row[r] = a + (size_t)r * a_step;
}
EK_INLINE void rows_skip(const int8_t *row[8], const columns *w, const int R)
{
    const size_t step = w->part_step - w->part;
#pragma GCC unroll 8
    for (int r = 0; r < R; r++) row[r] = (const int8_t *)((uintptr_t)row[r] + step);
}

/* R <= 8 rows by C <= 2 panels. */
static void block(int8_t *out, size_t out_step, const int8_t *a, size_t a_step, const columns *w, const int R,
                  const int C);

typedef void stripe_fn(int8_t *out, size_t out_step, const int8_t *a, size_t a_step, size_t rows, const columns *w);

/* All rows by C panels: blocks of R rows, then what is left. */
#define EK_STRIPE(name, R, C)                                                                                \
    static __attribute__((noinline)) void name(int8_t *out, size_t out_step, const int8_t *a, size_t a_step, \
                                               size_t rows, const columns *w)                                \
    {                                                                                                        \
        for (; rows >= R; rows -= R, a += (R) * a_step, out += (R) * out_step)                               \
            block(out, out_step, a, a_step, w, R, C);                                                        \
        switch (rows) {                                                                                      \
        case 7:                                                                                              \
            if (R >= 8) block(out, out_step, a, a_step, w, 7, C);                                            \
            break;                                                                                           \
        case 6:                                                                                              \
            if (R >= 7) block(out, out_step, a, a_step, w, 6, C);                                            \
            break;                                                                                           \
        case 5:                                                                                              \
            if (R >= 6) block(out, out_step, a, a_step, w, 5, C);                                            \
            break;                                                                                           \
        case 4:                                                                                              \
            if (R >= 5) block(out, out_step, a, a_step, w, 4, C);                                            \
            break;                                                                                           \
        case 3:                                                                                              \
            if (R >= 4) block(out, out_step, a, a_step, w, 3, C);                                            \
            break;                                                                                           \
        case 2:                                                                                              \
            if (R >= 3) block(out, out_step, a, a_step, w, 2, C);                                            \
            break;                                                                                           \
        case 1: block(out, out_step, a, a_step, w, 1, C); break;                                             \
        default: break;                                                                                      \
        }                                                                                                    \
    }

/* The columns from channel `first` on, a multiple of 16. */
EK_INLINE void all_columns(int8_t *out, size_t out_step, const int8_t *a, size_t a_step, size_t rows,
                           const ek_gemm_s8 *g, uint32_t first, stripe_fn *one, stripe_fn *two)
{
    const ek_requant *q = &g->requant;
    const size_t bytes = panel_bytes(g->k);
    columns w = { .panel = stripes_of(g) + first / PANEL * bytes,
                  .bias = bias_of(g) + first,
                  .part = g->part ? g->part : g->k,
                  .part_step = g->part_step,
                  .k = g->k,
                  .output = ek_output_from(q->zero_point, q->qmin, q->qmax) };
    for (; first < g->n; first += STRIPE) {
        const uint32_t left = g->n - first;
        w.count = left < STRIPE ? left : STRIPE;
        w.channels = left < STRIPE ? ek_channels16_part(q, first, left) : ek_channels16_load(q, first);
        if (left <= PANEL)
            one(out + first, out_step, a, a_step, rows, &w);
        else
            two(out + first, out_step, a, a_step, rows, &w);
        w.panel += 2 * bytes;
        w.bias += STRIPE;
    }
}

/* The sums of one row of k >= 8 elements and the next stripe of 16 channels. */
static inline void sum_row(int32x4_t sums[4], const int32_t *bias, const int8_t *row, uint32_t k, const int8_t **panel);

/* Whole stripes of one row; returns the channels done. What surrounds the sums counts here. */
static __attribute__((noinline)) uint32_t multiply_row(int8_t *out, const int8_t *row, const ek_gemm_s8 *g)
{
    const ek_requant *q = &g->requant;
    const ek_output o = ek_output_from(q->zero_point, q->qmin, q->qmax);
    const uint32_t n = g->n / STRIPE * STRIPE, k = g->k;
    const int8_t *panel = stripes_of(g);
    const int32_t *bias = bias_of(g);
    for (uint32_t j = 0; j < n; j += STRIPE) {
        int32x4_t v[4];
        sum_row(v, bias + j, row, k, &panel);
        const ek_channels16 c = ek_channels16_load(q, j);
#pragma GCC unroll 4
        for (int i = 0; i < 4; i++) {
            if (c.any_left) v[i] = vshlq_s32(v[i], c.left[i]);
            v[i] = vrshlq_s32(vqrdmulhq_s32(v[i], c.m[i]), c.right[i]);
        }
        vst1q_s8(out + j, ek_narrow16(v[0], v[1], v[2], v[3], &o));
    }
    return n;
}

EK_INLINE void multiply(int8_t *out, size_t out_step, const int8_t *a, size_t a_step, size_t rows, const ek_gemm_s8 *g,
                        stripe_fn *one, stripe_fn *two)
{
    const uint32_t done = rows == 1 && !g->part && g->k >= 8 ? multiply_row(out, a, g) : 0;
    all_columns(out, out_step, a, a_step, rows, g, done, one, two);
}

#endif

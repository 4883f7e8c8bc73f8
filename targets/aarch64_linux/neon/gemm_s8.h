/* What the int8 products of NEON, of dot products and of matrix products share: blocks of rows by one
 * or two panels of 8 channels. A file that includes this says EK_GEMM_GROUP, the k that the panels are
 * padded to, and defines `at_of` and `block`.
 *
 * Packed: a header of 16 bytes, bias [panels][8], then panels of 8 * padded k bytes. */
#ifndef EK_NEON_GEMM_S8_H
#define EK_NEON_GEMM_S8_H

#include "requant.h"

enum { PANEL = 8, HEADER = 16 };

typedef struct columns {
    const int8_t *panel;
    const int32_t *bias;
    size_t panel_bytes;
    uint32_t part, k; /* k is whole parts, or one part with any tail */
    size_t part_step;
    uint32_t count; /* channels that exist of up to two panels */
    bool any_left;
    ek_channels4 channels[4];
    ek_output output;
} columns;

/* Where weight i of channel j < 8 lies in its panel. */
static size_t at_of(uint32_t j, uint32_t i);

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
    for (uint32_t j = 0; j < n; j++)
        for (uint32_t i = 0; i < k; i++)
            to[j / PANEL * panel_bytes(k) + at_of(j % PANEL, i)] = weights[(size_t)j * k + i];
}

/* Requantizes and stores R rows of C panels. */
EK_INLINE void store_rows(int8_t *out, size_t out_step, int32x4_t acc[8][4], const columns *w, const int R, const int C)
{
    if (R > 1) EK_FENCE();
    const ek_output o = w->output;
    int32x4_t m[4], right[4];
#pragma GCC unroll 4
    for (int i = 0; i < 2 * C; i++) m[i] = w->channels[i].m, right[i] = w->channels[i].right;
    if (w->any_left) {
#pragma GCC unroll 8
        for (int r = 0; r < R; r++)
#pragma GCC unroll 4
            for (int i = 0; i < 2 * C; i++) acc[r][i] = vshlq_s32(acc[r][i], w->channels[i].left);
    }
    const bool whole = w->count == (uint32_t)C * PANEL;
#pragma GCC unroll 8
    for (int r = 0; r < R; r++, out += out_step) {
#pragma GCC unroll 4
        for (int i = 0; i < 2 * C; i++) acc[r][i] = vrshlq_s32(vqrdmulhq_s32(acc[r][i], m[i]), right[i]);
        if (C == 1) {
            const int8x8_t q = ek_narrow8(acc[r][0], acc[r][1], &o);
            if (whole)
                vst1_s8(out, q);
            else
                ek_store_part16(out, vcombine_s8(q, q), w->count);
        } else {
            const int8x16_t q = ek_narrow16(acc[r][0], acc[r][1], acc[r][2], acc[r][3], &o);
            if (whole)
                vst1q_s8(out, q);
            else
                ek_store_part16(out, q, w->count);
        }
    }
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

EK_INLINE bool load_channels(ek_channels4 c[2], const ek_requant *q, size_t first, size_t count)
{
    return count >= PANEL ? ek_channels8_load(c, q, first) : ek_channels8_part(c, q, first, count);
}

/* All columns. A single row is worth code of its own: what surrounds its sums is half of its time. */
EK_INLINE void all_columns(int8_t *out, size_t out_step, const int8_t *a, size_t a_step, size_t rows,
                           const ek_gemm_s8 *g, const bool single, stripe_fn *one, stripe_fn *two)
{
    const ek_requant *q = &g->requant;
    const size_t bytes = panel_bytes(g->k), bias_bytes = panels(g->n) * PANEL * sizeof(int32_t);
    columns w = { .panel = (const int8_t *)g->weights + HEADER + bias_bytes,
                  .bias = (const int32_t *)(const void *)((const int8_t *)g->weights + HEADER),
                  .panel_bytes = bytes,
                  .part = g->part ? g->part : g->k,
                  .part_step = g->part_step,
                  .k = g->k,
                  .output = ek_output_from(q->zero_point, q->qmin, q->qmax) };
    for (uint32_t first = 0; first < g->n; first += 2 * PANEL) {
        const uint32_t left = g->n - first;
        w.count = left < 2 * PANEL ? left : 2 * PANEL;
        w.any_left = load_channels(w.channels, q, first, left);
        if (left <= PANEL) {
            if (single)
                block(out + first, 0, a, 0, &w, 1, 1);
            else
                one(out + first, out_step, a, a_step, rows, &w);
            return;
        }
        w.any_left = load_channels(w.channels + 2, q, first + PANEL, left - PANEL) || w.any_left;
        if (single)
            block(out + first, 0, a, 0, &w, 1, 2);
        else
            two(out + first, out_step, a, a_step, rows, &w);
        w.panel += 2 * bytes;
        w.bias += 2 * PANEL;
    }
}

static __attribute__((noinline)) void multiply_row(int8_t *out, const int8_t *a, const ek_gemm_s8 *g)
{
    all_columns(out, 0, a, 0, 1, g, true, NULL, NULL);
}

EK_INLINE void multiply(int8_t *out, size_t out_step, const int8_t *a, size_t a_step, size_t rows, const ek_gemm_s8 *g,
                        stripe_fn *one, stripe_fn *two)
{
    if (rows == 1)
        multiply_row(out, a, g);
    else
        all_columns(out, out_step, a, a_step, rows, g, false, one, two);
}

#endif

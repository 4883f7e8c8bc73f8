/* What recurrent layers do to their gates and states, in float. */
#ifndef EK_CELL_F32_H
#define EK_CELL_F32_H

#include <math.h>

#include "op.h"

enum { EK_CELL_GIVES = 31, EK_CELL_NUMBERS = 8 };

typedef struct ek_cell {
    const float *alpha, *beta, *peepholes;
    float clip;  /* of gates; 0: none */
    float limit; /* of the cell state; 0: none */
    uint32_t functions;
} ek_cell;

static bool ek_cell_check(const ek_node *node, const ek_fmt_recurrent *p)
{
    const bool peepholes = p->flags & EK_RECURRENT_FLAG_PEEPHOLES;
    const uint64_t floats = EK_CELL_NUMBERS + (peepholes ? 3 * (uint64_t)p->hidden : 0);
    for (uint32_t i = 0; i < 3; i++)
        if ((p->functions >> 8 * i & 255) > EK_RECURRENT_FN_SOFTPLUS) return false;
    return ek_check_blob(node, p->table, ek_mul64(floats, sizeof(float)), 4);
}

static ek_cell ek_cell_of(const ek_node *node, const ek_fmt_recurrent *p)
{
    const float *table = ek_blob(node, p->table);
    return (ek_cell){ table, table + 3, table + EK_CELL_NUMBERS, table[6], table[7], p->functions };
}

static void ek_cell_start(const ek_cell *cell, const ek_kernels *kernels, float *state, const float *given,
                          size_t count, bool of_cell)
{
    (void)cell, (void)kernels, (void)of_cell;
    if (given)
        memcpy(state, given, count * sizeof *state);
    else
        memset(state, 0, count * sizeof *state);
}

/* A state as output `which` of those that have states. */
static void ek_cell_give(const ek_cell *cell, const ek_kernels *kernels, float *out, const float *state, size_t count,
                         size_t which)
{
    (void)cell, (void)kernels, (void)which;
    memcpy(out, state, count * sizeof *out);
}

static void ek_cell_sum(const ek_cell *cell, const ek_kernels *kernels, float *gates, const float *in, size_t count)
{
    (void)cell, (void)kernels;
    for (size_t i = 0; i < count; i++) gates[i] += in[i];
}

static void ek_cell_peep(const ek_cell *cell, float *gate, const float *state, size_t which, size_t count)
{
    const float *weights = cell->peepholes + which * count;
    for (size_t i = 0; i < count; i++) gate[i] += weights[i] * state[i];
}

static float ek_cell_fn(uint32_t fn, float x, float alpha, float beta)
{
    switch (fn) {
    case EK_RECURRENT_FN_SIGMOID: return 1.0f / (1.0f + expf(-x));
    case EK_RECURRENT_FN_TANH: return tanhf(x);
    case EK_RECURRENT_FN_RELU: return fmaxf(x, 0.0f);
    case EK_RECURRENT_FN_AFFINE: return alpha * x + beta;
    case EK_RECURRENT_FN_LEAKY_RELU: return x < 0 ? alpha * x : x;
    case EK_RECURRENT_FN_THRESHOLDED_RELU: return x > alpha ? x : 0.0f;
    case EK_RECURRENT_FN_SCALED_TANH: return alpha * tanhf(beta * x);
    case EK_RECURRENT_FN_HARD_SIGMOID: return fminf(fmaxf(alpha * x + beta, 0.0f), 1.0f);
    case EK_RECURRENT_FN_ELU: return x < 0 ? alpha * expm1f(x) : x;
    case EK_RECURRENT_FN_SOFTSIGN: return x / (1.0f + fabsf(x));
    default: return fmaxf(x, 0.0f) + log1pf(expf(-fabsf(x)));
    }
}

static void ek_cell_apply(const ek_cell *cell, const ek_kernels *kernels, uint32_t which, float *v, size_t count)
{
    (void)kernels;
    const uint32_t fn = cell->functions >> 8 * which & 255;
    const float alpha = cell->alpha[which], beta = cell->beta[which];
    const float clip = which < 2 ? cell->clip : 0.0f; /* of the gates, not of the cell state */
    for (size_t i = 0; i < count; i++) {
        const float x = clip > 0.0f ? fminf(fmaxf(v[i], -clip), clip) : v[i];
        v[i] = ek_cell_fn(fn, x, alpha, beta);
    }
}

static void ek_cell_multiply(float *out, const float *a, const float *b, size_t count)
{
    for (size_t i = 0; i < count; i++) out[i] = a[i] * b[i];
}

static void ek_cell_complement(float *out, const float *in, size_t count)
{
    for (size_t i = 0; i < count; i++) out[i] = 1.0f - in[i];
}

static void ek_cell_blend(float *hidden, const float *update, const float *next, size_t count)
{
    for (size_t i = 0; i < count; i++) hidden[i] = (1.0f - update[i]) * next[i] + update[i] * hidden[i];
}

static void ek_cell_update(const ek_cell *cell, float *state, const float *i, const float *f, const float *g,
                           size_t count)
{
    for (size_t j = 0; j < count; j++) state[j] = f[j] * state[j] + i[j] * g[j];
    if (cell->limit > 0.0f)
        for (size_t j = 0; j < count; j++) state[j] = fminf(fmaxf(state[j], -cell->limit), cell->limit);
}

static void ek_cell_output(const ek_cell *cell, float *hidden, const float *o, const float *h, size_t count)
{
    (void)cell;
    ek_cell_multiply(hidden, o, h, count);
}

#endif

/* What recurrent layers do to their gates and states, in int16 (docs/arithmetic.md, "Recurrent layers"). */
#ifndef EK_CELL_S16_H
#define EK_CELL_S16_H

#include "fixed_point.h"
#include "ops/lookup/lut_s16.h"
#include "op.h"

enum {
    EK_CELL_GIVES = EK_RECURRENT_OUTPUT_HIDDEN | EK_RECURRENT_OUTPUT_LAST_HIDDEN | EK_RECURRENT_OUTPUT_LAST_CELL,
    EK_CELL_NUMBERS = 17,
    EK_CELL_CURVES = EK_CELL_NUMBERS * 4 + 3 * LUT_S16_POINTS * 2,
    EK_CELL_PEEP = EK_CELL_CURVES + 2, /* an offset from `table`, like the next: a multiple of 4 */
    EK_CELL_PEEP_WEIGHTS = EK_CELL_PEEP + 6 * 4,
    EK_CELL_SHIFT = 40,    /* the most that add_s16 takes */
    EK_CELL_ONE_BITS = 15, /* 1.0 is 2^15, of which 2^15 - 1 is the nearest there is */
};

typedef struct ek_cell {
    ek_add_s16 gates;
    const int32_t *hidden, *cell, *start_hidden, *start_cell; /* a multiplier and a shift each */
    const int32_t *outputs; /* of all hidden states, of the last, of the last cell state */
    const int16_t *tables;
    const int32_t *peep; /* a multiplier and a shift of i, o and f, and behind them the weights */
} ek_cell;

static ek_cell ek_cell_of(const ek_node *node, const ek_fmt_recurrent *p)
{
    const int32_t *numbers = ek_blob(node, p->table);
    return (ek_cell){ .gates = { numbers[0], numbers[1], numbers[2], -INT16_MAX, INT16_MAX },
                      .hidden = numbers + 3,
                      .cell = numbers + 5,
                      .start_hidden = numbers + 7,
                      .start_cell = numbers + 9,
                      .outputs = numbers + 11,
                      .tables = (const int16_t *)(numbers + EK_CELL_NUMBERS),
                      .peep = numbers + EK_CELL_PEEP / 4 };
}

static bool ek_cell_ratios(const int32_t *by, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (!ek_is_ratio16(by[2 * i], by[2 * i + 1])) return false;
    return true;
}

static bool ek_cell_check(const ek_node *node, const ek_fmt_recurrent *p)
{
    const uint32_t most = 1 << 23;
    const bool peepholes = p->flags & EK_RECURRENT_FLAG_PEEPHOLES;
    const uint64_t bytes = peepholes ? EK_CELL_PEEP_WEIGHTS + 6 * (uint64_t)p->hidden : EK_CELL_CURVES;
    if (!ek_check_blob(node, p->table, bytes, 4)) return false;
    const ek_cell c = ek_cell_of(node, p);
    const int64_t a = c.gates.a_multiplier, b = c.gates.b_multiplier;
    const bool gates =
        (a < 0 ? -a : a) + (b < 0 ? -b : b) <= most && c.gates.shift >= 1 && c.gates.shift <= EK_CELL_SHIFT;
    const bool cell = c.cell[0] >= 0 && (uint32_t)c.cell[0] <= most && c.cell[1] >= EK_CELL_ONE_BITS && c.cell[1] <= 38;
    if (!gates || !cell || !ek_cell_ratios(c.hidden, 1) || !ek_cell_ratios(c.start_hidden, 5)) return false;
    return !peepholes || ek_cell_ratios(c.peep, 3);
}

static inline int16_t ek_cell_clamp(int64_t v)
{
    return (int16_t)(v < -INT16_MAX ? -INT16_MAX : v > INT16_MAX ? INT16_MAX : v);
}

/* The bits of 1.0 as a multiplier: a ratio of 2^-n has EK_CELL_UNIT + n as its shift. */
enum { EK_CELL_UNIT = 22 };

static inline bool ek_cell_is_power(const int32_t *by)
{
    return by[0] == 1 << EK_CELL_UNIT;
}

/* Half up, once, as add_s16 rounds; what shifts beyond its own leave is 0 there too. */
static void ek_cell_scale(const ek_kernels *kernels, int16_t *out, const int16_t *in, size_t count, const int32_t *by)
{
    if (ek_cell_is_power(by) && by[1] == EK_CELL_UNIT) { /* from a scale to the same */
        for (size_t i = 0; i < count; i++) out[i] = in[i] < -INT16_MAX ? -INT16_MAX : in[i];
        return;
    }
    const ek_add_s16 scale = { by[0], 0, by[1] < EK_CELL_SHIFT ? by[1] : EK_CELL_SHIFT, -INT16_MAX, INT16_MAX };
    kernels->add_s16(out, in, in, 1, count, &scale);
}

static void ek_cell_start(const ek_cell *cell, const ek_kernels *kernels, int16_t *state, const int16_t *given,
                          size_t count, bool of_cell)
{
    if (given)
        ek_cell_scale(kernels, state, given, count, of_cell ? cell->start_cell : cell->start_hidden);
    else
        memset(state, 0, count * sizeof *state);
}

/* A state in the scale of output `which` of those that have states. */
static void ek_cell_give(const ek_cell *cell, const ek_kernels *kernels, int16_t *out, const int16_t *state,
                         size_t count, size_t which)
{
    ek_cell_scale(kernels, out, state, count, cell->outputs + 2 * which);
}

static void ek_cell_sum(const ek_cell *cell, const ek_kernels *kernels, int16_t *gates, const int16_t *in, size_t count)
{
    kernels->add_s16(gates, in, gates, 1, count, &cell->gates);
}

/* Products are at most 2^30, times a multiplier below 2^53. */
static void ek_cell_peep(const ek_cell *cell, int16_t *gate, const int16_t *state, size_t which, size_t count)
{
    const int32_t *by = cell->peep + 2 * which;
    const int16_t *weights = (const int16_t *)(cell->peep + 6) + which * count;
    for (size_t i = 0; i < count; i++) {
        const int32_t share = ek_scale16(weights[i] * state[i], by[0], (uint32_t)by[1]);
        gate[i] = (int16_t)ek_clamp(gate[i] + share, -INT16_MAX, INT16_MAX);
    }
}

static void ek_cell_apply(const ek_cell *cell, const ek_kernels *kernels, uint32_t which, int16_t *v, size_t count)
{
    kernels->lut_s16(v, v, count, cell->tables + which * LUT_S16_POINTS);
}

/* a * b, a of scale 2^-15. */
static void ek_cell_multiply(int16_t *out, const int16_t *a, const int16_t *b, size_t count)
{
    const int32_t half = 1 << (EK_CELL_ONE_BITS - 1);
    for (size_t i = 0; i < count; i++)
        out[i] = (int16_t)ek_clamp((a[i] * b[i] + half) >> EK_CELL_ONE_BITS, -INT16_MAX, INT16_MAX);
}

static void ek_cell_complement(int16_t *out, const int16_t *in, size_t count)
{
    for (size_t i = 0; i < count; i++)
        out[i] = (int16_t)ek_clamp((1 << EK_CELL_ONE_BITS) - in[i], -INT16_MAX, INT16_MAX);
}

static void ek_cell_blend(int16_t *hidden, const int16_t *update, const int16_t *next, size_t count)
{
    const int64_t one = 1 << EK_CELL_ONE_BITS;
    for (size_t i = 0; i < count; i++) {
        const int64_t sum = (one - update[i]) * next[i] + update[i] * hidden[i];
        hidden[i] = ek_cell_clamp((sum + one / 2) >> EK_CELL_ONE_BITS);
    }
}

/* One rounding, half up, of both products: below 2^53 + 2^54. */
static void ek_cell_update(const ek_cell *cell, int16_t *state, const int16_t *i, const int16_t *f, const int16_t *g,
                           size_t count)
{
    const int32_t multiplier = cell->cell[0], shift = cell->cell[1], one = 1 << (shift - EK_CELL_ONE_BITS);
    const int64_t half = INT64_C(1) << (shift - 1);
    for (size_t j = 0; j < count; j++) {
        const int64_t sum = (int64_t)(f[j] * state[j]) * one + (int64_t)(i[j] * g[j]) * multiplier;
        state[j] = ek_cell_clamp((sum + half) >> shift);
    }
}

static void ek_cell_output(const ek_cell *cell, int16_t *hidden, const int16_t *o, const int16_t *h, size_t count)
{
    if (ek_cell_is_power(cell->hidden) && cell->hidden[1] == EK_CELL_UNIT + EK_CELL_ONE_BITS) {
        ek_cell_multiply(hidden, o, h, count); /* all of them in 2^-15 */
        return;
    }
    for (size_t i = 0; i < count; i++)
        hidden[i] = ek_requantize16(o[i] * h[i], cell->hidden[0], (uint32_t)cell->hidden[1], -INT16_MAX, INT16_MAX);
}

#endif

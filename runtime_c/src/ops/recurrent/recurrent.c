/* One direction of an RNN, GRU or LSTM layer. Built for s16 and f32: what the gates do is in cell_s16.h and cell_f32.h.
 */
#include "element.h"

/* clang-format off */
#include EK_TYPED_HEADER(ops/matmul/gemm)
#include EK_TYPED_HEADER(cell)
#include "ops/recurrent/products.h"
/* clang-format on */

enum { GATES, LENGTHS, HIDDEN, CELL, INPUTS };
enum { F, G, H }; /* functions, as ONNX calls them */

static bool check_inputs(const ek_node *node)
{
    const ek_fmt_recurrent *p = node->params;
    const uint64_t gates = ek_mul64(ek_mul64(states(p), p->steps), gates_of(p));
    if (node->op->inputs != INPUTS || !ek_check_in(node, GATES, EK_ELEMENT_DTYPE, gates)) return false;
    if (ek_operand(node, LENGTHS) && !ek_check_in(node, LENGTHS, EK_DTYPE_INT32, p->batch)) return false;
    if (ek_operand(node, HIDDEN) && !ek_check_in(node, HIDDEN, EK_ELEMENT_DTYPE, states(p))) return false;
    if (!ek_operand(node, CELL)) return true;
    return p->cell == EK_RECURRENT_CELL_LSTM && ek_check_in(node, CELL, EK_ELEMENT_DTYPE, states(p));
}

static bool check_output(const ek_node *node, uint32_t i, uint64_t elements)
{
    return i < node->op->outputs && ek_check_out(node, i, EK_ELEMENT_DTYPE, elements);
}

static bool check_outputs(const ek_node *node)
{
    const ek_fmt_recurrent *p = node->params;
    const uint32_t of_cells = EK_RECURRENT_OUTPUT_LAST_CELL | EK_RECURRENT_OUTPUT_CELLS;
    const uint64_t all = ek_mul64(states(p), p->steps);
    const uint64_t elements[] = { all, states(p), states(p), all, ek_mul64(all, gates_of(p)) };
    uint32_t count = 0;
    if (p->gives & ~(uint32_t)EK_CELL_GIVES || (p->gives & of_cells && p->cell != EK_RECURRENT_CELL_LSTM)) return false;
    for (uint32_t bit = 0; bit < sizeof elements / sizeof *elements; bit++)
        if (p->gives >> bit & 1 && !check_output(node, count++, elements[bit])) return false;
    return count == node->op->outputs;
}

/* Behind a codec: nibbles, whose rows begin with bytes, so that the second product of a step finds its own. */
static ek_status check_weights(const ek_node *node, uint64_t rows)
{
    const ek_fmt_recurrent *p = node->params;
    const ek_coded_size size = { rows, p->hidden, rows, p->hidden };
    if (p->codec.id && p->codec.id != EK_WEIGHT_CODEC_NIBBLES) return EK_ERR_CORRUPT;
    return ek_check_weights(node, p->weights, &p->codec, &size, sizeof(ek_weight));
}

static ek_status recurrent_check(const ek_node *node)
{
    const ek_fmt_recurrent *p = node->params;
    const uint32_t known = EK_RECURRENT_FLAG_REVERSE | EK_RECURRENT_FLAG_RESET_AFTER | EK_RECURRENT_FLAG_COUPLED |
                           EK_RECURRENT_FLAG_PEEPHOLES;
    if (!p->steps || !p->batch || !p->hidden || p->cell > EK_RECURRENT_CELL_LSTM || p->flags & ~known)
        return EK_ERR_CORRUPT;
    const uint64_t rows = (uint64_t)gates_of(p) * p->hidden;
    const ek_status tail = EK_CHECK_TAIL(node, p, rows, rows);
    if (tail) return tail;
    const ek_status weights = check_weights(node, rows);
    if (weights) return weights;
    const bool fits = check_inputs(node) && check_outputs(node);
    return fits && ek_cell_check(node, p) ? EK_OK : EK_ERR_CORRUPT;
}

static inline ek_table recurrent_table(const ek_node *node)
{
    const ek_fmt_recurrent *p = node->params;
    const uint64_t rows = (uint64_t)gates_of(p) * p->hidden;
    return EK_TABLE(p, rows, rows);
}

/* The products' shares of the gates; the hidden state; the cell state of LSTM, what GRU resets. */
static uint64_t recurrent_scratch(const ek_node *node)
{
    const ek_fmt_recurrent *p = node->params;
    return ek_mul64(ek_mul64(states(p), gates_of(p) + 2), sizeof(ek_element));
}

/* A layer as it runs. */
typedef struct layer {
    const ek_node *node;
    const ek_fmt_recurrent *p;
    ek_cell cell;
    ek_element *gates;  /* [batch][gates][hidden] */
    ek_element *hidden; /* [batch][hidden] */
    ek_element *other;  /* [batch][hidden]: the cell state, what was reset */
    ek_element *out[5]; /* by bit of `gives`, or NULL */
} layer;

/* What is made of one sample in one step: where its gates, states and inputs are. */
typedef struct sample {
    const ek_element *in;
    ek_element *gates, *hidden, *other;
    size_t batch, time;
} sample;

static layer layer_of(const ek_node *node)
{
    const ek_fmt_recurrent *p = node->params;
    const size_t count = (size_t)states(p);
    layer l = { .node = node, .p = p, .cell = ek_cell_of(node, p), .gates = node->scratch };
    l.hidden = l.gates + gates_of(p) * count;
    l.other = l.hidden + count;
    for (uint32_t bit = 0, i = 0; bit < 5; bit++) l.out[bit] = p->gives >> bit & 1 ? ek_out(node, i++) : NULL;
    const bool hidden = ek_operand(node, HIDDEN), cell = ek_operand(node, CELL);
    ek_cell_start(&l.cell, node->kernels, l.hidden, hidden ? ek_in(node, HIDDEN) : NULL, count, false);
    ek_cell_start(&l.cell, node->kernels, l.other, cell ? ek_in(node, CELL) : NULL, count, true);
    return l;
}

/* Sum `count` gates from the `first` element on, of a sample. */
static void sum(const layer *l, const sample *s, size_t first, size_t count)
{
    ek_cell_sum(&l->cell, l->node->kernels, s->gates + first, s->in + first, count);
}

static void apply(const layer *l, uint32_t which, ek_element *v, size_t count)
{
    ek_cell_apply(&l->cell, l->node->kernels, which, v, count);
}

/* For whom watches: what the functions are applied to. */
static void show_gates(const layer *l, const sample *s, size_t first, size_t count)
{
    const size_t gates = (size_t)gates_of(l->p) * l->p->hidden;
    ek_element *out = l->out[4];
    if (out) memcpy(out + (s->time * l->p->batch + s->batch) * gates + first, s->gates + first, count * sizeof *out);
}

static void step_rnn(const layer *l, const sample *s)
{
    const size_t n = l->p->hidden;
    sum(l, s, 0, n);
    show_gates(l, s, 0, n);
    apply(l, F, s->gates, n);
    memcpy(s->hidden, s->gates, n * sizeof *s->hidden);
}

/* Up to the product with what is reset. */
static void open_gru(const layer *l, const sample *s)
{
    const size_t n = l->p->hidden;
    sum(l, s, 0, 2 * n);
    show_gates(l, s, 0, 2 * n);
    apply(l, F, s->gates, 2 * n);
    const ek_element *reset = s->gates + n;
    if (resets_before(l->p))
        ek_cell_multiply(s->other, reset, s->hidden, n);
    else
        ek_cell_multiply(s->gates + 2 * n, reset, s->gates + 2 * n, n);
}

static void close_gru(const layer *l, const sample *s)
{
    const size_t n = l->p->hidden;
    sum(l, s, 2 * n, n);
    show_gates(l, s, 2 * n, n);
    apply(l, G, s->gates + 2 * n, n);
    ek_cell_blend(s->hidden, s->gates, s->gates + 2 * n, n);
}

static void step_lstm(const layer *l, const sample *s)
{
    const size_t n = l->p->hidden;
    ek_element *i = s->gates, *o = i + n, *f = o + n, *c = f + n;
    sum(l, s, 0, 4 * n);
    if (l->p->flags & EK_RECURRENT_FLAG_PEEPHOLES) {
        ek_cell_peep(&l->cell, i, s->other, 0, n);
        ek_cell_peep(&l->cell, f, s->other, 2, n);
    }
    show_gates(l, s, 0, 4 * n);
    apply(l, F, i, n);
    if (l->p->flags & EK_RECURRENT_FLAG_COUPLED)
        ek_cell_complement(f, i, n);
    else
        apply(l, F, f, n);
    apply(l, G, c, n);
    ek_cell_update(&l->cell, s->other, i, f, c, n);
    if (l->p->flags & EK_RECURRENT_FLAG_PEEPHOLES) ek_cell_peep(&l->cell, o, s->other, 1, n);
    apply(l, F, o, n);
    memcpy(i, s->other, n * sizeof *i);
    apply(l, H, i, n);
    ek_cell_output(&l->cell, s->hidden, o, i, n);
}

static size_t length_of(const layer *l, size_t batch)
{
    const int32_t *lengths = ek_operand(l->node, LENGTHS) ? ek_in(l->node, LENGTHS) : NULL;
    if (!lengths) return l->p->steps;
    return lengths[batch] < 0 ? 0 : (uint32_t)lengths[batch] < l->p->steps ? (size_t)lengths[batch] : l->p->steps;
}

/* Sample `batch` in the `step`-th step; false past its end. */
static bool sample_at(const layer *l, size_t step, size_t batch, sample *s)
{
    const size_t n = l->p->hidden, gates = gates_of(l->p) * n, length = length_of(l, batch);
    if (step >= length) return false;
    const size_t time = l->p->flags & EK_RECURRENT_FLAG_REVERSE ? length - 1 - step : step;
    const ek_element *in = ek_in(l->node, GATES);
    *s = (sample){ .in = in + (time * l->p->batch + batch) * gates,
                   .gates = l->gates + batch * gates,
                   .hidden = l->hidden + batch * n,
                   .other = l->other + batch * n,
                   .batch = batch,
                   .time = time };
    return true;
}

static void keep(const layer *l, const sample *s)
{
    const size_t n = l->p->hidden, at = (s->time * l->p->batch + s->batch) * n;
    if (l->out[0]) ek_cell_give(&l->cell, l->node->kernels, l->out[0] + at, s->hidden, n, 0);
    if (l->out[3]) memcpy(l->out[3] + at, s->other, n * sizeof(ek_element));
}

/* What lies past a sample's end is zero. */
static void clear(const layer *l, size_t step, size_t batch)
{
    const size_t n = l->p->hidden, at = step * l->p->batch + batch, gates = gates_of(l->p) * n;
    if (l->out[0]) memset(l->out[0] + at * n, 0, n * sizeof(ek_element));
    if (l->out[3]) memset(l->out[3] + at * n, 0, n * sizeof(ek_element));
    if (l->out[4]) memset(l->out[4] + at * gates, 0, gates * sizeof(ek_element));
}

/* The product of all samples with weights from channel `first` on, into the gates from there. */
static void multiply(const layer *l, const ek_element *states, const ek_gemm *product, size_t first)
{
    const ek_fmt_recurrent *p = l->p;
    const size_t n = p->hidden, gates = gates_of(p) * n;
#ifdef EK_CODED
    if (ek_is_coded(&p->codec) && !l->node->packed) {
        ek_coded w = recurrent_weights_of(l->node);
        w.data += first * ek_w4_row(n);
        if (w.auxiliary) w.auxiliary += first * ek_w4_groups(n, w.group);
        for (size_t b = 0; b < p->batch; b++)
            ek_gemm_row(l->node->kernels, l->gates + b * gates + first, states + b * n, &w, product);
        return;
    }
#endif
    ek_gemm_run(l->node->kernels, l->gates + first, gates, states, n, p->batch, product);
}

static void run_step(const layer *l, size_t step)
{
    const ek_fmt_recurrent *p = l->p;
    sample s;
    const ek_gemm product = first_product(l->node);
    multiply(l, l->hidden, &product, 0);
    if (p->cell == EK_RECURRENT_CELL_GRU)
        for (size_t b = 0; b < p->batch; b++)
            if (sample_at(l, step, b, &s)) open_gru(l, &s);
    if (resets_before(p)) {
        const ek_gemm second = second_product(l->node);
        multiply(l, l->other, &second, first_rows(p));
    }
    for (size_t b = 0; b < p->batch; b++) {
        if (!sample_at(l, step, b, &s)) {
            clear(l, step, b);
            continue;
        }
        if (p->cell == EK_RECURRENT_CELL_LSTM)
            step_lstm(l, &s);
        else if (p->cell == EK_RECURRENT_CELL_GRU)
            close_gru(l, &s);
        else
            step_rnn(l, &s);
        keep(l, &s);
    }
}

static ek_status recurrent_run(const ek_node *node)
{
    const layer l = layer_of(node);
    const size_t count = (size_t)states(l.p);
    for (size_t step = 0; step < l.p->steps; step++) run_step(&l, step);
    if (l.out[1]) ek_cell_give(&l.cell, node->kernels, l.out[1], l.hidden, count, 1);
    if (l.out[2]) ek_cell_give(&l.cell, node->kernels, l.out[2], l.other, count, 2);
    return EK_OK;
}

const ek_op EK_CODED_OP(recurrent) = {
    .inputs_min = 1,
    .inputs_max = INPUTS,
    .outputs = 5,
    .check = recurrent_check,
    .scratch = recurrent_scratch,
    .packed_bytes = recurrent_packed_bytes,
#ifdef EK_CODED
    EK_OP_PACK_IN(recurrent_pack_room, recurrent_pack),
#else
    .pack = EK_OP_PACK(recurrent_pack),
#endif
    EK_OP_CONSTANTS(ek_fmt_recurrent, recurrent_table),
    .run = recurrent_run,
};

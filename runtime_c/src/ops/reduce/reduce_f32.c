#include <math.h>

#include "ops/axis.h"

/* Sums are built of parts of PART terms in each of LANES columns: a running sum of a long axis
 * would lose digits. Columns are neighbours of the inner axis, or of the axis itself if it is last. */
enum { LANES = 16, PART = 64 };

static ek_status reduce_f32_check(const ek_node *n)
{
    const ek_fmt_reduce *p = n->params;
    const ek_fmt_axis_view *v = &p->view;
    return ek_check_view(n, v, EK_DTYPE_FLOAT32) && p->fn <= EK_REDUCE_FN_L2 &&
                   ek_check_out(n, 0, EK_DTYPE_FLOAT32, ek_mul64(v->outer, v->inner))
               ? EK_OK
               : EK_ERR_CORRUPT;
}

static inline float reduce_f32_term(uint32_t fn, float x)
{
    switch (fn) {
    case EK_REDUCE_FN_SUM_SQUARE:
    case EK_REDUCE_FN_L2: return x * x;
    case EK_REDUCE_FN_L1: return fabsf(x);
    default: return x;
    }
}

static inline float join(uint32_t fn, float a, float b)
{
    switch (fn) {
    case EK_REDUCE_FN_MAX: return b > a ? b : a;
    case EK_REDUCE_FN_MIN: return b < a ? b : a;
    case EK_REDUCE_FN_PROD: return a * b;
    default: return a + b;
    }
}

static float neutral(uint32_t fn)
{
    switch (fn) {
    case EK_REDUCE_FN_MAX: return -INFINITY;
    case EK_REDUCE_FN_MIN: return INFINITY;
    case EK_REDUCE_FN_PROD: return 1.0f;
    default: return 0.0f;
    }
}

static float reduce_f32_finish(uint32_t fn, float x, size_t count)
{
    switch (fn) {
    case EK_REDUCE_FN_MEAN: return x / (float)count;
    case EK_REDUCE_FN_L2: return sqrtf(x);
    default: return x;
    }
}

/* total[j] over in[i * step + j] for i < count, j < lanes. */
static void reduce_columns(float *total, const float *in, size_t step, size_t count, size_t lanes, uint32_t fn)
{
    const float none = neutral(fn);
    for (size_t j = 0; j < lanes; j++) total[j] = none;
    for (size_t i = 0; i < count; i += PART) {
        const size_t end = count - i < PART ? count : i + PART;
        float part[LANES];
        for (size_t j = 0; j < lanes; j++) part[j] = none;
        for (size_t k = i; k < end; k++)
            for (size_t j = 0; j < lanes; j++) part[j] = join(fn, part[j], reduce_f32_term(fn, in[k * step + j]));
        for (size_t j = 0; j < lanes; j++) total[j] = join(fn, total[j], part[j]);
    }
}

static float reduce_line(const float *in, size_t count, uint32_t fn)
{
    float total[LANES];
    reduce_columns(total, in, LANES, count / LANES, LANES, fn);
    float result = total[0];
    for (size_t j = 1; j < LANES; j++) result = join(fn, result, total[j]);
    for (size_t i = count - count % LANES; i < count; i++) result = join(fn, result, reduce_f32_term(fn, in[i]));
    return result;
}

static ek_status reduce_f32_run(const ek_node *n)
{
    const ek_fmt_reduce *p = n->params;
    const size_t axis = p->view.axis, inner = p->view.inner;
    const float *in = ek_in(n, 0);
    float *out = ek_out(n, 0);
    for (size_t o = 0; o < p->view.outer; o++, in += axis * inner, out += inner) {
        if (inner == 1) out[0] = reduce_line(in, axis, p->fn);
        for (size_t j = 0; inner > 1 && j < inner; j += LANES)
            reduce_columns(out + j, in + j, inner, axis, inner - j < LANES ? inner - j : LANES, p->fn);
        for (size_t j = 0; j < inner; j++) out[j] = reduce_f32_finish(p->fn, out[j], axis);
    }
    return EK_OK;
}

const ek_op ek_op_reduce_f32 = {
    .inputs_min = 1, .inputs_max = 1, .outputs = 1, .check = reduce_f32_check, .run = reduce_f32_run
};

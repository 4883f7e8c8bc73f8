#include "axis.h"
#include "mean.h"

/* A contiguous axis is summed in this many columns, so that kernels have a row to work on. */
enum { LANES = 16 };

static ek_status check(const ek_node *n)
{
    const ek_fmt_reduce_s8 *p = n->params;
    const ek_fmt_axis_view *v = &p->view;
    if (!ek_check_view(n, v, EK_DTYPE_INT8) || !ek_check_out(n, 0, EK_DTYPE_INT8, ek_mul64(v->outer, v->inner)))
        return EK_ERR_CORRUPT;
    if (p->fn == EK_REDUCE_FN_MAX || p->fn == EK_REDUCE_FN_MIN) return EK_OK;
    return (p->fn == EK_REDUCE_FN_MEAN || p->fn == EK_REDUCE_FN_SUM) && ek_is_s8(p->input_zero) &&
                   ek_check_q_range(p->output_zero, p->qmin, p->qmax) && ek_check_shift(p->shift) &&
                   ek_check_mean(v->axis, p->input_zero, p->multiplier, p->shift)
               ? EK_OK
               : EK_ERR_CORRUPT;
}

static uint64_t scratch(const void *params, const ek_kernels *kernels)
{
    const ek_fmt_reduce_s8 *p = params;
    (void)kernels;
    if (p->fn == EK_REDUCE_FN_MAX || p->fn == EK_REDUCE_FN_MIN) return 0;
    return sizeof(int32_t) * (uint64_t)(p->view.inner == 1 ? LANES : p->view.inner);
}

/* The sum of `count` neighbours in acc[0]; acc has LANES elements. */
static void sum_line(const ek_kernels *k, int32_t *acc, const int8_t *in, size_t count)
{
    memset(acc, 0, LANES * sizeof *acc);
    k->sum_s8(acc, in, LANES, count / LANES, LANES);
    for (size_t j = 1; j < LANES; j++) acc[0] += acc[j];
    for (size_t i = count - count % LANES; i < count; i++) acc[0] += in[i];
}

static void mean(const ek_node *n, int8_t *out, const int8_t *in)
{
    const ek_fmt_reduce_s8 *p = n->params;
    const size_t axis = p->view.axis, inner = p->view.inner;
    const int32_t offset = (int32_t)axis * p->input_zero;
    int32_t *acc = n->scratch;
    if (inner == 1) {
        sum_line(n->kernels, acc, in, axis);
    } else {
        memset(acc, 0, inner * sizeof *acc);
        n->kernels->sum_s8(acc, in, inner, axis, inner);
    }
    for (size_t j = 0; j < inner; j++)
        out[j] =
            ek_requantize((acc[j] - offset) * EK_MEAN_UNIT, p->multiplier, p->shift, p->output_zero, p->qmin, p->qmax);
}

static void minimum(int8_t *out, const int8_t *in, size_t axis, size_t inner)
{
    memcpy(out, in, inner);
    for (size_t i = 1; i < axis; i++)
        for (size_t j = 0; j < inner; j++) out[j] = in[i * inner + j] < out[j] ? in[i * inner + j] : out[j];
}

static ek_status run(const ek_node *n)
{
    const ek_fmt_reduce_s8 *p = n->params;
    const size_t axis = p->view.axis, inner = p->view.inner;
    const int8_t *in = ek_in(n, 0);
    int8_t *out = ek_out(n, 0);
    for (size_t o = 0; o < p->view.outer; o++, in += axis * inner, out += inner) {
        if (p->fn == EK_REDUCE_FN_MAX) {
            memcpy(out, in, inner);
            n->kernels->max_s8(out, in + inner, inner, axis - 1, inner);
        } else if (p->fn == EK_REDUCE_FN_MIN) {
            minimum(out, in, axis, inner);
        } else {
            mean(n, out, in);
        }
    }
    return EK_OK;
}

const ek_op ek_op_reduce_s8 = {
    .inputs_min = 1, .inputs_max = 1, .outputs = 1, .check = check, .scratch = scratch, .run = run
};

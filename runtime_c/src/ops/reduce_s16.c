#include "axis.h"
#include "sums_s16.h"

static bool is_extreme(const ek_fmt_reduce_s16 *p)
{
    return p->fn == EK_REDUCE_FN_MAX || p->fn == EK_REDUCE_FN_MIN;
}

static ek_status check(const ek_node *n)
{
    const ek_fmt_reduce_s16 *p = n->params;
    const ek_fmt_axis_view *v = &p->view;
    if (!ek_check_view(n, v, EK_DTYPE_INT16) || !ek_check_out(n, 0, EK_DTYPE_INT16, ek_mul64(v->outer, v->inner)))
        return EK_ERR_CORRUPT;
    if (is_extreme(p)) return EK_OK;
    return (p->fn == EK_REDUCE_FN_MEAN || p->fn == EK_REDUCE_FN_SUM) && p->qmin <= p->qmax &&
                   ek_check_sum_s16(v->axis, p->multiplier, p->shift)
               ? EK_OK
               : EK_ERR_CORRUPT;
}

static uint64_t scratch(const void *params, const ek_kernels *kernels)
{
    const ek_fmt_reduce_s16 *p = params;
    (void)kernels;
    return is_extreme(p) ? 0 : sizeof(int64_t) * (uint64_t)p->view.inner;
}

static void mean(const ek_node *n, int16_t *out, const int16_t *in)
{
    const ek_fmt_reduce_s16 *p = n->params;
    const size_t axis = p->view.axis, inner = p->view.inner;
    int64_t *acc = n->scratch;
    memset(acc, 0, inner * sizeof *acc);
    if (inner == 1)
        for (size_t i = 0; i < axis; i++) acc[0] += in[i];
    else
        ek_sum_s16(acc, in, inner, axis, inner);
    for (size_t j = 0; j < inner; j++) out[j] = ek_requantize16(acc[j], p->multiplier, p->shift, p->qmin, p->qmax);
}

static void minimum(int16_t *out, const int16_t *in, size_t axis, size_t inner)
{
    for (size_t i = 0; i < axis; i++)
        for (size_t j = 0; j < inner; j++) out[j] = in[i * inner + j] < out[j] ? in[i * inner + j] : out[j];
}

static ek_status run(const ek_node *n)
{
    const ek_fmt_reduce_s16 *p = n->params;
    const size_t axis = p->view.axis, inner = p->view.inner;
    const int16_t *in = ek_in(n, 0);
    int16_t *out = ek_out(n, 0);
    for (size_t o = 0; o < p->view.outer; o++, in += axis * inner, out += inner) {
        if (!is_extreme(p)) {
            mean(n, out, in);
            continue;
        }
        memcpy(out, in, inner * sizeof *out);
        if (p->fn == EK_REDUCE_FN_MAX)
            ek_max_s16(out, in, inner, axis, inner);
        else
            minimum(out, in, axis, inner);
    }
    return EK_OK;
}

const ek_op ek_op_reduce_s16 = {
    .inputs_min = 1, .inputs_max = 1, .outputs = 1, .check = check, .scratch = scratch, .run = run
};

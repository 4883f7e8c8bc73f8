#include "mean.h"

#define ELEMENT int8_t
#define DTYPE   EK_DTYPE_INT8
#define TOTAL   int32_t
#define LANES   16 /* so that kernels have a row to work on */
#define EK_BODY reduce_s8
#include "reduce_fixed.h"

static bool reduce_s8_check_mean(const ek_fmt_reduce *p)
{
    return ek_is_s8(p->input_zero) && ek_check_q_range(p->output_zero, p->qmin, p->qmax) &&
           ek_check_mean(p->view.axis, p->input_zero, p->multiplier, p->shift);
}

/* The sum of `count` neighbours in acc[0]; acc has LANES elements. */
static void sum_line(const ek_kernels *kernels, int32_t *acc, const int8_t *in, size_t count)
{
    memset(acc, 0, LANES * sizeof *acc);
    kernels->sum_s8(acc, in, LANES, count / LANES, LANES);
    for (size_t j = 1; j < LANES; j++) acc[0] += acc[j];
    for (size_t i = count - count % LANES; i < count; i++) acc[0] += in[i];
}

static void reduce_s8_mean(const ek_node *n, int8_t *out, const int8_t *in)
{
    const ek_fmt_reduce *p = n->params;
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

static void reduce_s8_maximum(const ek_node *n, int8_t *out, const int8_t *in, size_t count, size_t c)
{
    n->kernels->max_s8(out, in, c, count, c);
}

const ek_op ek_op_reduce_s8 = { .inputs_min = 1,
                                .inputs_max = 1,
                                .outputs = 1,
                                .check = EK_OWN(check),
                                .scratch = EK_OWN(scratch),
                                .run = EK_OWN(run) };

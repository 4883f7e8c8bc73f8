#include "ops/heavy_checks.h"
#include "ops/sums_s16.h"

#define ELEMENT int16_t
#define DTYPE   EK_DTYPE_INT16
#define TOTAL   int64_t
#define LANES   1
#define EK_BODY reduce_s16
#include "reduce_fixed.h"

static bool reduce_s16_check_mean(const ek_fmt_reduce *p)
{
    return !p->input_zero && !p->output_zero && p->shift > 0 && ek_check_q_range16(p->qmin, p->qmax) &&
           ek_check_sum_s16(p->view.axis, p->multiplier, p->shift);
}

static void reduce_s16_mean(const ek_node *n, int16_t *out, const int16_t *in)
{
    const ek_fmt_reduce *p = n->params;
    const size_t axis = p->view.axis, inner = p->view.inner;
    int64_t *acc = n->scratch;
    memset(acc, 0, inner * sizeof *acc);
    if (inner == 1)
        for (size_t i = 0; i < axis; i++) acc[0] += in[i];
    else
        ek_sum_s16(acc, in, inner, axis, inner);
    const uint32_t shift = (uint32_t)p->shift;
    for (size_t j = 0; j < inner; j++) out[j] = ek_requantize16(acc[j], p->multiplier, shift, p->qmin, p->qmax);
}

static void reduce_s16_maximum(const ek_node *n, int16_t *out, const int16_t *in, size_t count, size_t c)
{
    (void)n;
    ek_max_s16(out, in, c, count, c);
}

const ek_op ek_op_reduce_s16 = { .inputs_min = 1,
                                 .inputs_max = 1,
                                 .outputs = 1,
                                 .check = EK_OWN(check),
                                 .scratch = EK_OWN(scratch),
                                 .run = EK_OWN(run) };

#include "ops/reduce/mean.h"

#define ELEMENT int8_t
#define TOTAL   int32_t
#define SHIFT   int8_t
#define EK_BODY avg_pool2d_s8
#include "avg_pool2d_fixed.h"

static bool avg_pool2d_s8_entry_fits(const ek_fmt_avg_pool2d *p, uint64_t count, int32_t multiplier, int8_t shift)
{
    return ek_check_mean(count, p->input_zero, multiplier, shift);
}

static void avg_pool2d_s8_add_up(const ek_node *n, int32_t *acc, const int8_t *in, size_t step, size_t count, size_t c)
{
    n->kernels->sum_s8(acc, in, step, count, c);
}

static void avg_pool2d_s8_divide(const ek_fmt_avg_pool2d *p, int8_t *out, const int32_t *acc, uint32_t count,
                                 int32_t multiplier, int8_t shift)
{
    const int32_t offset = (int32_t)count * p->input_zero;
    for (size_t j = 0; j < p->geometry.in_c; j++)
        out[j] = ek_requantize((acc[j] - offset) * EK_MEAN_UNIT, multiplier, shift, p->output_zero, p->qmin, p->qmax);
}

static ek_status avg_pool2d_s8_check(const ek_node *n)
{
    const ek_fmt_avg_pool2d *p = n->params;
    return ek_check_pool(n, &p->geometry, EK_DTYPE_INT8) && ek_is_s8(p->input_zero) &&
                   ek_check_q_range(p->output_zero, p->qmin, p->qmax) && EK_OWN(check_table)(n)
               ? EK_OK
               : EK_ERR_CORRUPT;
}

const ek_op ek_op_avg_pool2d_s8 = { .inputs_min = 1,
                                    .inputs_max = 1,
                                    .outputs = 1,
                                    .check = avg_pool2d_s8_check,
                                    .scratch = EK_OWN(scratch),
                                    .run = EK_OWN(run) };

#include "ops/heavy_checks.h"
#include "ops/sums_s16.h"

#define ELEMENT int16_t
#define TOTAL   int64_t
#define SHIFT   uint8_t
#define EK_BODY avg_pool2d_s16
#include "avg_pool2d_fixed.h"

static bool avg_pool2d_s16_entry_fits(const ek_fmt_avg_pool2d *p, uint64_t count, int32_t multiplier, uint8_t shift)
{
    (void)p;
    return ek_check_sum_s16(count, multiplier, shift);
}

static void avg_pool2d_s16_add_up(const ek_node *n, int64_t *acc, const int16_t *in, size_t step, size_t count,
                                  size_t c)
{
    (void)n;
    ek_sum_s16(acc, in, step, count, c);
}

static void avg_pool2d_s16_divide(const ek_fmt_avg_pool2d *p, int16_t *out, const int64_t *acc, uint32_t count,
                                  int32_t multiplier, uint8_t shift)
{
    const int32_t qmin = p->qmin, qmax = p->qmax;
    (void)count;
    for (size_t j = 0; j < p->geometry.in_c; j++) out[j] = ek_requantize16(acc[j], multiplier, shift, qmin, qmax);
}

static ek_status avg_pool2d_s16_check(const ek_node *n)
{
    const ek_fmt_avg_pool2d *p = n->params;
    return ek_check_pool(n, &p->geometry, EK_DTYPE_INT16) && !p->input_zero && !p->output_zero &&
                   ek_check_q_range16(p->qmin, p->qmax) && EK_OWN(check_table)(n)
               ? EK_OK
               : EK_ERR_CORRUPT;
}

const ek_op ek_op_avg_pool2d_s16 = { .inputs_min = 1,
                                     .inputs_max = 1,
                                     .outputs = 1,
                                     .check = avg_pool2d_s16_check,
                                     .scratch = EK_OWN(scratch),
                                     .run = EK_OWN(run) };

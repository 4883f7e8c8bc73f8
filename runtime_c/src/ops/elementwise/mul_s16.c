/* int16 Mul, broadcast. */
#include "broadcast.h"
#include "fixed_point.h"

#define ELEMENT int16_t
#define PARAMS  ek_fmt_mul
#define EK_BODY mul_s16
#include "broadcast_run.h"

static ek_status mul_s16_check(const ek_node *n)
{
    const ek_fmt_mul *p = n->params;
    const bool zeros = !p->a_zero && !p->b_zero && !p->output_zero;
    return ek_is_ratio16(p->multiplier, p->shift) && zeros && ek_check_q_range16(p->qmin, p->qmax) &&
                   ek_check_broadcast(n, &p->shape, EK_DTYPE_INT16)
               ? EK_OK
               : EK_ERR_CORRUPT;
}

static void mul_s16_row(int16_t *out, const int16_t *a, const int16_t *b, const ek_fmt_mul *p)
{
    const size_t count = p->shape.dims[3], a_step = p->shape.a[3], b_step = p->shape.b[3];
    const int32_t multiplier = p->multiplier, qmin = p->qmin, qmax = p->qmax;
    const uint32_t shift = (uint32_t)p->shift;
    for (size_t i = 0; i < count; i++)
        out[i] = ek_requantize16(a[i * a_step] * b[i * b_step], multiplier, shift, qmin, qmax);
}

const ek_op ek_op_mul_s16 = { .inputs_min = 2,
                              .inputs_max = 2,
                              .outputs = 1,
                              .in_place = EK_INPUT_0 | EK_INPUT_1,
                              .check = mul_s16_check,
                              .run = EK_OWN(run) };

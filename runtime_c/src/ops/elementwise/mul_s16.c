/* int16 Mul, broadcast. */
#include "broadcast.h"
#include "fixed_point.h"

#define ELEMENT int16_t
#define PARAMS  ek_fmt_mul
#define TERMS   ek_mul_s16
#define EK_BODY mul_s16
#include "broadcast_kernel.h"

static ek_status mul_s16_check(const ek_node *n)
{
    const ek_fmt_mul *p = n->params;
    const bool zeros = !p->a_zero && !p->b_zero && !p->output_zero;
    return ek_is_ratio16(p->multiplier, p->shift) && zeros && ek_check_q_range16(p->qmin, p->qmax) &&
                   ek_check_broadcast(n, &p->shape, EK_DTYPE_INT16)
               ? EK_OK
               : EK_ERR_CORRUPT;
}

static ek_mul_s16 mul_s16_terms_of(const ek_fmt_mul *p, bool swap)
{
    (void)swap;
    return (ek_mul_s16){ p->multiplier, (uint32_t)p->shift, p->qmin, p->qmax };
}

static void mul_s16_row(const ek_kernels *kernels, int16_t *out, const int16_t *a, const int16_t *b, size_t b_step,
                        size_t count, const ek_mul_s16 *t)
{
    kernels->mul_s16(out, a, b, b_step, count, t);
}

const ek_op ek_op_mul_s16 = { .inputs_min = 2,
                              .inputs_max = 2,
                              .outputs = 1,
                              .in_place = EK_INPUT_0 | EK_INPUT_1,
                              .check = mul_s16_check,
                              .run = EK_OWN(run) };

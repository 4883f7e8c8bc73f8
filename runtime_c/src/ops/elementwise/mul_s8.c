/* int8 Mul, broadcast. */
#include "broadcast.h"
#include "fixed_point.h"

#define ELEMENT int8_t
#define PARAMS  ek_fmt_mul
#define TERMS   ek_mul_s8
#define EK_BODY mul_s8
#include "broadcast_kernel.h"

static ek_status mul_s8_check(const ek_node *n)
{
    const ek_fmt_mul *p = n->params;
    /* |acc| <= 255 * 255, and acc << 14 stays below 2^30. */
    const bool scale = ek_is_ratio(p->multiplier, p->shift) && p->shift <= 14;
    const bool range = ek_is_s8(p->a_zero) && ek_is_s8(p->b_zero) && ek_is_s8(p->output_zero) && ek_is_s8(p->qmin) &&
                       ek_is_s8(p->qmax) && p->qmin <= p->qmax;
    return scale && range && ek_check_broadcast(n, &p->shape, EK_DTYPE_INT8) ? EK_OK : EK_ERR_CORRUPT;
}

static ek_mul_s8 mul_s8_terms_of(const ek_fmt_mul *p, bool swap)
{
    return (ek_mul_s8){
        .a_zero = swap ? p->b_zero : p->a_zero,
        .b_zero = swap ? p->a_zero : p->b_zero,
        .multiplier = p->multiplier,
        .shift = p->shift,
        .zero_point = p->output_zero,
        .qmin = p->qmin,
        .qmax = p->qmax,
    };
}

static void mul_s8_row(const ek_kernels *kernels, int8_t *out, const int8_t *a, const int8_t *b, size_t b_step,
                       size_t count, const ek_mul_s8 *t)
{
    kernels->mul_s8(out, a, b, b_step, count, t);
}

const ek_op ek_op_mul_s8 = { .inputs_min = 2,
                             .inputs_max = 2,
                             .outputs = 1,
                             .in_place = EK_INPUT_0 | EK_INPUT_1,
                             .check = mul_s8_check,
                             .run = EK_OWN(run) };

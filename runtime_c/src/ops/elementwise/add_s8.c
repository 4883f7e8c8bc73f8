/* int8 Add and Sub, broadcast. */
#include "broadcast.h"

#define ELEMENT int8_t

/* The sum stays in 32 bits: it is linear, so its extremes are at the corners. */
#define PARAMS  ek_fmt_add
#define TERMS   ek_add_s8
#define EK_BODY add_s8
#include "broadcast_kernel.h"

static bool fits(const ek_fmt_add *p)
{
    for (int corner = 0; corner < 4; corner++) {
        const int64_t a = corner & 1 ? INT8_MAX : INT8_MIN, b = corner & 2 ? INT8_MAX : INT8_MIN;
        const int64_t sum = a * p->a_multiplier + b * p->b_multiplier + p->bias;
        if (sum < -INT32_MAX || sum > INT32_MAX) return false;
    }
    return true;
}

static ek_status add_s8_check(const ek_node *n)
{
    const ek_fmt_add *p = n->params;
    const int64_t limit = 1 << 22;
    const bool multipliers = p->a_multiplier <= limit && p->a_multiplier >= -limit && p->b_multiplier <= limit &&
                             p->b_multiplier >= -limit && fits(p);
    const bool range = p->shift >= 0 && p->shift <= 30 && ek_is_s8(p->qmin) && ek_is_s8(p->qmax) && p->qmin <= p->qmax;
    return multipliers && range && ek_check_broadcast(n, &p->shape, EK_DTYPE_INT8) ? EK_OK : EK_ERR_CORRUPT;
}

static ek_add_s8 add_s8_terms_of(const ek_fmt_add *p, bool swap)
{
    return (ek_add_s8){
        .a_multiplier = swap ? p->b_multiplier : p->a_multiplier,
        .b_multiplier = swap ? p->a_multiplier : p->b_multiplier,
        .bias = p->bias,
        .shift = p->shift,
        .qmin = p->qmin,
        .qmax = p->qmax,
    };
}

static void add_s8_row(const ek_kernels *kernels, int8_t *out, const int8_t *a, const int8_t *b, size_t b_step,
                       size_t count, const ek_add_s8 *t)
{
    kernels->add_s8(out, a, b, b_step, count, t);
}

const ek_op ek_op_add_s8 = { .inputs_min = 2,
                             .inputs_max = 2,
                             .outputs = 1,
                             .in_place = EK_INPUT_0 | EK_INPUT_1,
                             .check = add_s8_check,
                             .run = EK_OWN(run) };

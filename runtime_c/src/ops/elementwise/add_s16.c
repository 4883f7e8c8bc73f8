/* int16 Add and Sub, broadcast. */
#include "broadcast.h"

#define ELEMENT int16_t

typedef ek_fmt_add params;
typedef ek_add_s16 terms;

static ek_status check(const ek_node *n)
{
    const params *p = n->params;
    const int64_t ma = p->a_multiplier, mb = p->b_multiplier;
    const bool multipliers = (ma < 0 ? -ma : ma) + (mb < 0 ? -mb : mb) <= 1 << 23;
    const bool range = p->shift >= 1 && p->shift <= 40 && !p->bias && ek_check_q_range16(p->qmin, p->qmax);
    return multipliers && range && ek_check_broadcast(n, &p->shape, EK_DTYPE_INT16) ? EK_OK : EK_ERR_CORRUPT;
}

static terms terms_of(const params *p, bool swap)
{
    return (terms){
        .a_multiplier = swap ? p->b_multiplier : p->a_multiplier,
        .b_multiplier = swap ? p->a_multiplier : p->b_multiplier,
        .shift = p->shift,
        .qmin = p->qmin,
        .qmax = p->qmax,
    };
}

static void row(const ek_kernels *kernels, int16_t *out, const int16_t *a, const int16_t *b, size_t b_step,
                size_t count, const terms *t)
{
    kernels->add_s16(out, a, b, b_step, count, t);
}

#include "broadcast_kernel.h"

const ek_op ek_op_add_s16 = {
    .inputs_min = 2, .inputs_max = 2, .outputs = 1, .in_place = EK_INPUT_0 | EK_INPUT_1, .check = check, .run = run
};

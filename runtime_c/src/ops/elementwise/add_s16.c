/* int16 Add and Sub, broadcast. */
#include "broadcast.h"

#define ELEMENT int16_t
#define PARAMS  ek_fmt_add
#define TERMS   ek_add_s16
#define EK_BODY add_s16
#include "broadcast_kernel.h"

static ek_status add_s16_check(const ek_node *n)
{
    const ek_fmt_add *p = n->params;
    const int64_t ma = p->a_multiplier, mb = p->b_multiplier;
    const bool multipliers = (ma < 0 ? -ma : ma) + (mb < 0 ? -mb : mb) <= 1 << 23;
    const bool range = p->shift >= 1 && p->shift <= 40 && !p->bias && ek_check_q_range16(p->qmin, p->qmax);
    return multipliers && range && ek_check_broadcast(n, &p->shape, EK_DTYPE_INT16) ? EK_OK : EK_ERR_CORRUPT;
}

static ek_add_s16 add_s16_terms_of(const ek_fmt_add *p, bool swap)
{
    return (ek_add_s16){
        .a_multiplier = swap ? p->b_multiplier : p->a_multiplier,
        .b_multiplier = swap ? p->a_multiplier : p->b_multiplier,
        .shift = p->shift,
        .qmin = p->qmin,
        .qmax = p->qmax,
    };
}

static void add_s16_row(const ek_kernels *kernels, int16_t *out, const int16_t *a, const int16_t *b, size_t b_step,
                        size_t count, const ek_add_s16 *t)
{
    kernels->add_s16(out, a, b, b_step, count, t);
}

const ek_op ek_op_add_s16 = { .inputs_min = 2,
                              .inputs_max = 2,
                              .outputs = 1,
                              .in_place = EK_INPUT_0 | EK_INPUT_1,
                              .check = add_s16_check,
                              .run = EK_OWN(run) };

/* NonZero: where a tensor of bools is true, and how many such places there are; 0 behind them. */
#include "op.h"

static ek_status non_zero_check(const ek_node *n)
{
    const ek_fmt_non_zero *p = n->params;
    const bool fits = p->count && p->count <= INT32_MAX && p->most && n->op->outputs == 2 &&
                      ek_check_in(n, 0, EK_DTYPE_UINT8, p->count) && ek_check_out(n, 0, EK_DTYPE_INT32, p->most) &&
                      ek_check_out(n, 1, EK_DTYPE_INT32, 1);
    return fits ? EK_OK : EK_ERR_CORRUPT;
}

static ek_status non_zero_run(const ek_node *n)
{
    const ek_fmt_non_zero *p = n->params;
    const uint8_t *in = ek_in(n, 0);
    int32_t *places = ek_out(n, 0), *found = ek_out(n, 1);
    uint32_t many = 0;
    memset(places, 0, (size_t)p->most * sizeof *places);
    for (uint32_t i = 0; i < p->count; i++) {
        if (!in[i]) continue;
        if (many == p->most) return EK_ERR_INDEX;
        places[many++] = (int32_t)i;
    }
    *found = (int32_t)many;
    return EK_OK;
}

const ek_op ek_op_non_zero = {
    .inputs_min = 1, .inputs_max = 1, .outputs = 2, .check = non_zero_check, .run = non_zero_run
};

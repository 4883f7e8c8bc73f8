/* A table of 256 results. */
#include "op.h"

static ek_status lut_s8_check(const ek_node *n)
{
    const ek_fmt_lut *p = n->params;
    const bool fits = ek_check_in(n, 0, EK_DTYPE_INT8, p->count) && ek_check_out(n, 0, EK_DTYPE_INT8, p->count) &&
                      ek_check_blob(n, p->table, 256, 1);
    return fits ? EK_OK : EK_ERR_CORRUPT;
}

static ek_status lut_s8_run(const ek_node *n)
{
    const ek_fmt_lut *p = n->params;
    n->kernels->lut_s8(ek_out(n, 0), ek_in(n, 0), p->count, ek_blob(n, p->table));
    return EK_OK;
}

const ek_op ek_op_lut_s8 = {
    .inputs_min = 1, .inputs_max = 1, .outputs = 1, .in_place = EK_INPUT_0, .check = lut_s8_check, .run = lut_s8_run
};

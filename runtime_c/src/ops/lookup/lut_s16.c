/* An interpolated table. */
#include "lut_s16.h"

#include "op.h"

static ek_status lut_s16_check(const ek_node *n)
{
    const ek_fmt_lut *p = n->params;
    const bool fits = ek_check_in(n, 0, EK_DTYPE_INT16, p->count) && ek_check_out(n, 0, EK_DTYPE_INT16, p->count) &&
                      ek_check_blob(n, p->table, LUT_S16_POINTS * sizeof(int16_t), 2);
    return fits ? EK_OK : EK_ERR_CORRUPT;
}

static ek_status lut_s16_run(const ek_node *n)
{
    const ek_fmt_lut *p = n->params;
    n->kernels->lut_s16(ek_out(n, 0), ek_in(n, 0), p->count, ek_blob(n, p->table));
    return EK_OK;
}

const ek_op ek_op_lut_s16 = {
    .inputs_min = 1, .inputs_max = 1, .outputs = 1, .in_place = EK_INPUT_0, .check = lut_s16_check, .run = lut_s16_run
};

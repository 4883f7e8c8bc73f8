/* float32 to int8, per tensor. */
#include "op.h"

static ek_status quantize_s8_check(const ek_node *n)
{
    const ek_fmt_dequantize *p = n->params;
    const bool range = p->scale > 0 && p->zero >= INT8_MIN && p->zero <= INT8_MAX;
    const bool fits = ek_check_in(n, 0, EK_DTYPE_FLOAT32, p->count) && ek_check_out(n, 0, EK_DTYPE_INT8, p->count);
    return range && fits ? EK_OK : EK_ERR_CORRUPT;
}

static ek_status quantize_s8_run(const ek_node *n)
{
    const ek_fmt_dequantize *p = n->params;
    n->kernels->quantize_f32_s8(ek_out(n, 0), ek_in(n, 0), p->count, p->scale, p->zero);
    return EK_OK;
}

const ek_op ek_op_quantize_s8 = {
    .inputs_min = 1, .inputs_max = 1, .outputs = 1, .check = quantize_s8_check, .run = quantize_s8_run
};

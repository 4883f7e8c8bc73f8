/* float32 to int16, per tensor. */
#include "op.h"

static ek_status quantize_s16_check(const ek_node *n)
{
    const ek_fmt_dequantize *p = n->params;
    const bool fits = ek_check_in(n, 0, EK_DTYPE_FLOAT32, p->count) && ek_check_out(n, 0, EK_DTYPE_INT16, p->count);
    return p->scale > 0 && !p->zero && fits ? EK_OK : EK_ERR_CORRUPT;
}

static ek_status quantize_s16_run(const ek_node *n)
{
    const ek_fmt_dequantize *p = n->params;
    n->kernels->quantize_f32_s16(ek_out(n, 0), ek_in(n, 0), p->count, p->scale);
    return EK_OK;
}

const ek_op ek_op_quantize_s16 = {
    .inputs_min = 1, .inputs_max = 1, .outputs = 1, .check = quantize_s16_check, .run = quantize_s16_run
};

#include "ops/heavy_checks.h"

#define ELEMENT int8_t
#define DTYPE   EK_DTYPE_INT8
#define LARGEST 255
#define EK_BODY layer_norm_s8
#include "layer_norm.h"

static ek_status layer_norm_s8_check(const ek_node *n)
{
    const ek_fmt_layer_norm *p = n->params;
    return ek_check_q_range(p->input_zero, p->qmin, p->qmax) && EK_OWN(check_body)(n, p) ? EK_OK : EK_ERR_CORRUPT;
}

const ek_op ek_op_layer_norm_s8 = { .inputs_min = 1,
                                    .inputs_max = 1,
                                    .outputs = 1,
                                    .in_place = EK_INPUT_0,
                                    .check = layer_norm_s8_check,
                                    .run = EK_OWN(run) };

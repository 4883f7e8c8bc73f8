#include "ops/heavy_checks.h"

#define ELEMENT int8_t
#define DTYPE   EK_DTYPE_INT8
#define WIDE    int32_t
#define LIMIT   (1 << 22)
#define EK_BODY prelu_s8
#include "prelu.h"

static ek_status prelu_s8_check(const ek_node *n)
{
    const ek_fmt_prelu *p = n->params;
    return ek_is_s8(p->input_zero) && ek_check_q_range(p->output_zero, p->qmin, p->qmax) && EK_OWN(check_body)(n, p)
               ? EK_OK
               : EK_ERR_CORRUPT;
}

const ek_op ek_op_prelu_s8 = {
    .inputs_min = 1, .inputs_max = 1, .outputs = 1, .in_place = EK_INPUT_0, .check = prelu_s8_check, .run = EK_OWN(run)
};

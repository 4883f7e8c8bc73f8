#include "ops/heavy_checks.h"

#define ELEMENT int16_t
#define DTYPE   EK_DTYPE_INT16
#define WIDE    int64_t
#define LIMIT   (1 << 23)
#define EK_BODY prelu_s16
#include "prelu.h"

static ek_status prelu_s16_check(const ek_node *n)
{
    const ek_fmt_prelu *p = n->params;
    return !p->input_zero && !p->output_zero && ek_check_q_range16(p->qmin, p->qmax) && EK_OWN(check_body)(n, p)
               ? EK_OK
               : EK_ERR_CORRUPT;
}

const ek_op ek_op_prelu_s16 = {
    .inputs_min = 1, .inputs_max = 1, .outputs = 1, .in_place = EK_INPUT_0, .check = prelu_s16_check, .run = EK_OWN(run)
};

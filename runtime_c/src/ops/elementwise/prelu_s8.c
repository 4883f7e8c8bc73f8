#include "ops/heavy_checks.h"

#define DTYPE   EK_DTYPE_INT8
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

static ek_status prelu_s8_run(const ek_node *n)
{
    const ek_fmt_prelu *p = n->params;
    const size_t axis = p->view.axis, inner = p->view.inner;
    const int8_t *in = ek_in(n, 0);
    int8_t *out = ek_out(n, 0);
    ek_prelu_s8 k = { ek_blob(n, p->table), p->view.axis, p->input_zero, p->multiplier, p->shift,
                      p->output_zero,       p->qmin,      p->qmax };
    if (inner == 1) {
        n->kernels->prelu_s8(out, in, p->view.outer, &k);
        return EK_OK;
    }
    k.channels = 1;
    for (size_t o = 0; o < p->view.outer; o++) {
        k.slopes = ek_blob(n, p->table);
        for (size_t c = 0; c < axis; c++, k.slopes++, in += inner, out += inner)
            n->kernels->prelu_s8(out, in, inner, &k);
    }
    return EK_OK;
}

const ek_op ek_op_prelu_s8 = {
    .inputs_min = 1, .inputs_max = 1, .outputs = 1, .in_place = EK_INPUT_0, .check = prelu_s8_check, .run = prelu_s8_run
};

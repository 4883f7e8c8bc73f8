#include "ops/heavy_checks.h"

#define DTYPE   EK_DTYPE_INT16
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

static void prelu_s16_row(int16_t *out, const int16_t *in, const int32_t *slopes, size_t step, size_t count,
                          const ek_fmt_prelu *p)
{
    const int32_t above = p->multiplier, shift = p->shift;
    const int64_t half = (int64_t)1 << (shift - 1), qmin = p->qmin, qmax = p->qmax;
    for (size_t i = 0; i < count; i++) {
        const int64_t q = ((int64_t)in[i] * (in[i] >= 0 ? above : slopes[i * step]) + half) >> shift;
        out[i] = (int16_t)(q < qmin ? qmin : q > qmax ? qmax : q);
    }
}

static ek_status prelu_s16_run(const ek_node *n)
{
    const ek_fmt_prelu *p = n->params;
    const size_t axis = p->view.axis, inner = p->view.inner;
    const int32_t *slopes = ek_blob(n, p->table);
    const int16_t *in = ek_in(n, 0);
    int16_t *out = ek_out(n, 0);
    for (size_t o = 0; o < p->view.outer; o++, in += axis * inner, out += axis * inner) {
        if (inner == 1)
            prelu_s16_row(out, in, slopes, 1, axis, p);
        else
            for (size_t c = 0; c < axis; c++) prelu_s16_row(out + c * inner, in + c * inner, slopes + c, 0, inner, p);
    }
    return EK_OK;
}

const ek_op ek_op_prelu_s16 = { .inputs_min = 1,
                                .inputs_max = 1,
                                .outputs = 1,
                                .in_place = EK_INPUT_0,
                                .check = prelu_s16_check,
                                .run = prelu_s16_run };

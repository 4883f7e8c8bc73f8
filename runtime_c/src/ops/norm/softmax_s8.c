#include "ops/axis.h"

/* Exponentials are at most 2^23, so that 256 times one and half a sum fit 32 bits. */
#define LARGEST (UINT32_C(1) << 23)

static bool softmax_s8_check_table(const ek_node *n, const ek_fmt_softmax *p)
{
    if (p->log || !ek_check_blob(n, p->table, 256 * sizeof(uint32_t), 4)) return false;
    const uint32_t *e = ek_blob(n, p->table);
    for (uint32_t d = 0; d < 256; d++)
        if (e[d] > LARGEST || ek_mul64(e[d], p->view.axis) >= UINT64_C(1) << 31) return false;
    return e[0] > 0;
}

static ek_status softmax_s8_check(const ek_node *n)
{
    const ek_fmt_softmax *p = n->params;
    const ek_fmt_axis_view *v = &p->view;
    return ek_check_view(n, v, EK_DTYPE_INT8) &&
                   ek_check_out(n, 0, EK_DTYPE_INT8, ek_mul64(ek_mul64(v->outer, v->axis), v->inner)) &&
                   softmax_s8_check_table(n, p)
               ? EK_OK
               : EK_ERR_CORRUPT;
}

/* One line of `axis` elements, `step` apart; out may be in. */
static void softmax_s8_softmax(int8_t *out, const int8_t *in, size_t axis, size_t step, const uint32_t *e)
{
    int32_t most = in[0];
    for (size_t i = 1; i < axis; i++) most = in[i * step] > most ? in[i * step] : most;
    uint32_t sum = 0;
    for (size_t i = 0; i < axis; i++) sum += e[most - in[i * step]];
    for (size_t i = 0; i < axis; i++) {
        const uint32_t q = (e[most - in[i * step]] * 256 + sum / 2) / sum;
        out[i * step] = (int8_t)((int32_t)(q < 255 ? q : 255) - 128);
    }
}

static ek_status softmax_s8_run(const ek_node *n)
{
    const ek_fmt_softmax *p = n->params;
    const size_t axis = p->view.axis, inner = p->view.inner;
    const uint32_t *e = ek_blob(n, p->table);
    const int8_t *in = ek_in(n, 0);
    int8_t *out = ek_out(n, 0);
    for (size_t o = 0; o < p->view.outer; o++, in += axis * inner, out += axis * inner)
        for (size_t j = 0; j < inner; j++) softmax_s8_softmax(out + j, in + j, axis, inner, e);
    return EK_OK;
}

const ek_op ek_op_softmax_s8 = { .inputs_min = 1,
                                 .inputs_max = 1,
                                 .outputs = 1,
                                 .in_place = EK_INPUT_0,
                                 .check = softmax_s8_check,
                                 .run = softmax_s8_run };

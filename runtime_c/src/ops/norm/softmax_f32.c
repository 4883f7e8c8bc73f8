#include <math.h>

#include "ops/axis.h"

static ek_status softmax_f32_check(const ek_node *n)
{
    const ek_fmt_softmax *p = n->params;
    const ek_fmt_axis_view *v = &p->view;
    return ek_check_view(n, v, EK_DTYPE_FLOAT32) && p->log <= 1 &&
                   ek_check_out(n, 0, EK_DTYPE_FLOAT32, ek_mul64(ek_mul64(v->outer, v->axis), v->inner))
               ? EK_OK
               : EK_ERR_CORRUPT;
}

static float largest(const float *in, size_t axis, size_t step)
{
    float most = in[0];
    for (size_t i = 1; i < axis; i++) most = in[i * step] > most ? in[i * step] : most;
    return most;
}

/* One line of `axis` elements, `step` apart; out may be in. */
static void softmax_f32_softmax(float *out, const float *in, size_t axis, size_t step)
{
    const float most = largest(in, axis, step);
    float sum = 0.0f;
    for (size_t i = 0; i < axis; i++) {
        const float e = expf(in[i * step] - most);
        out[i * step] = e;
        sum += e;
    }
    for (size_t i = 0; i < axis; i++) out[i * step] /= sum;
}

static void log_softmax(float *out, const float *in, size_t axis, size_t step)
{
    const float most = largest(in, axis, step);
    float sum = 0.0f;
    for (size_t i = 0; i < axis; i++) sum += expf(in[i * step] - most);
    const float log_sum = logf(sum);
    for (size_t i = 0; i < axis; i++) out[i * step] = in[i * step] - most - log_sum;
}

static ek_status softmax_f32_run(const ek_node *n)
{
    const ek_fmt_softmax *p = n->params;
    const size_t axis = p->view.axis, inner = p->view.inner;
    const float *in = ek_in(n, 0);
    float *out = ek_out(n, 0);
    for (size_t o = 0; o < p->view.outer; o++, in += axis * inner, out += axis * inner)
        for (size_t j = 0; j < inner; j++) (p->log ? log_softmax : softmax_f32_softmax)(out + j, in + j, axis, inner);
    return EK_OK;
}

const ek_op ek_op_softmax_f32 = { .inputs_min = 1,
                                  .inputs_max = 1,
                                  .outputs = 1,
                                  .in_place = EK_INPUT_0,
                                  .check = softmax_f32_check,
                                  .run = softmax_f32_run };

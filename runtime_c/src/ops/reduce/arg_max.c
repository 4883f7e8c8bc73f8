/* The index of the smallest or largest element along an axis. Built for s8, s16 and f32. */
#include "element.h"

#include EK_TYPED_HEADER(element)
#include "ops/axis.h"

static ek_status arg_max_check(const ek_node *n)
{
    const ek_fmt_arg_max *p = n->params;
    const ek_fmt_axis_view *v = &p->view;
    return ek_check_view(n, v, EK_ELEMENT_DTYPE) && v->axis <= INT32_MAX && p->is_min <= 1 && p->last <= 1 &&
                   ek_check_out(n, 0, EK_DTYPE_INT32, ek_mul64(v->outer, v->inner))
               ? EK_OK
               : EK_ERR_CORRUPT;
}

static int32_t find(const ek_element *in, const ek_fmt_arg_max *p)
{
    ek_element best = in[0];
    uint32_t found = 0;
    for (uint32_t i = 1; i < p->view.axis; i++) {
        const ek_element x = in[(size_t)i * p->view.inner];
        if ((p->is_min ? x < best : x > best) || (p->last && x == best)) {
            best = x;
            found = i;
        }
    }
    return (int32_t)found;
}

static ek_status arg_max_run(const ek_node *n)
{
    const ek_fmt_arg_max *p = n->params;
    const ek_element *in = ek_in(n, 0);
    int32_t *out = ek_out(n, 0);
    for (size_t o = 0; o < p->view.outer; o++, in += (size_t)p->view.axis * p->view.inner)
        for (size_t j = 0; j < p->view.inner; j++) *out++ = find(in + j, p);
    return EK_OK;
}

const ek_op EK_TYPED(ek_op_arg_max) = {
    .inputs_min = 1, .inputs_max = 1, .outputs = 1, .check = arg_max_check, .run = arg_max_run
};

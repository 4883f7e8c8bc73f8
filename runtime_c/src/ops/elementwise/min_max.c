/* The smaller or larger of two tensors of one quantization, broadcast. Built for s8 and s16. */
#include "element.h"

#include EK_TYPED_HEADER(element)
#include "broadcast.h"

#define ELEMENT ek_element
#define PARAMS  ek_fmt_min_max
#define EK_BODY EK_TYPED(min_max)
#include "broadcast_run.h"

static ek_status min_max_check(const ek_node *n)
{
    const ek_fmt_min_max *p = n->params;
    return p->is_max <= 1 && ek_check_broadcast(n, &p->shape, EK_ELEMENT_DTYPE) ? EK_OK : EK_ERR_CORRUPT;
}

static void EK_OWN(row)(ek_element *out, const ek_element *a, const ek_element *b, const ek_fmt_min_max *p)
{
    const size_t count = p->shape.dims[3], a_step = p->shape.a[3], b_step = p->shape.b[3];
    if (p->is_max) {
        for (size_t i = 0; i < count; i++) {
            const ek_element x = a[i * a_step], y = b[i * b_step];
            out[i] = x > y ? x : y;
        }
    } else {
        for (size_t i = 0; i < count; i++) {
            const ek_element x = a[i * a_step], y = b[i * b_step];
            out[i] = x < y ? x : y;
        }
    }
}

const ek_op EK_TYPED(ek_op_min_max) = { .inputs_min = 2,
                                        .inputs_max = 2,
                                        .outputs = 1,
                                        .in_place = EK_INPUT_0 | EK_INPUT_1,
                                        .check = min_max_check,
                                        .run = EK_OWN(run) };

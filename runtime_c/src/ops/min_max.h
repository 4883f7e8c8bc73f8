/* The body of MinMaxS8 and MinMaxS16, whose files define ELEMENT and DTYPE: the smaller or larger of
 * two tensors of one quantization, broadcast. */
#include "broadcast.h"

/* MinMaxS8 and MinMaxS16 are the same struct. */
typedef ek_fmt_min_max_s8 params;

static ek_status check(const ek_node *n)
{
    const params *p = n->params;
    return p->is_max <= 1 && ek_check_broadcast(n, &p->shape, DTYPE) ? EK_OK : EK_ERR_CORRUPT;
}

static void row(ELEMENT *out, const ELEMENT *a, const ELEMENT *b, const params *p)
{
    const size_t count = p->shape.dims[3], a_step = p->shape.a[3], b_step = p->shape.b[3];
    if (p->is_max) {
        for (size_t i = 0; i < count; i++) {
            const ELEMENT x = a[i * a_step], y = b[i * b_step];
            out[i] = x > y ? x : y;
        }
    } else {
        for (size_t i = 0; i < count; i++) {
            const ELEMENT x = a[i * a_step], y = b[i * b_step];
            out[i] = x < y ? x : y;
        }
    }
}

#include "broadcast_run.h"

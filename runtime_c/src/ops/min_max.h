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

static void row(ELEMENT *out, const ELEMENT *a, const ELEMENT *b, size_t a_step, size_t b_step, size_t count,
                bool is_max)
{
    if (is_max) {
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

static ek_status run(const ek_node *n)
{
    const params *p = n->params;
    const ek_fmt_broadcast *s = &p->shape;
    const ELEMENT *a = ek_in(n, 0), *b = ek_in(n, 1);
    ELEMENT *out = ek_out(n, 0);
    ek_rows r = { 0 };
    do {
        row(out + r.out, a + r.a, b + r.b, s->a[3], s->b[3], s->dims[3], p->is_max);
    } while (ek_rows_next(&r, s));
    return EK_OK;
}

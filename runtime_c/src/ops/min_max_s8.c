/* MinMaxS8: the smaller or larger of two int8 tensors of one quantization, broadcast. */
#include "broadcast.h"

static ek_status check(const ek_node *n)
{
    const ek_fmt_min_max_s8 *p = n->params;
    return p->is_max <= 1 && ek_check_broadcast(n, &p->shape, EK_DTYPE_INT8) ? EK_OK : EK_ERR_CORRUPT;
}

static void row(int8_t *out, const int8_t *a, const int8_t *b, size_t a_step, size_t b_step, size_t count, bool is_max)
{
    if (is_max) {
        for (size_t i = 0; i < count; i++) {
            const int8_t x = a[i * a_step], y = b[i * b_step];
            out[i] = x > y ? x : y;
        }
    } else {
        for (size_t i = 0; i < count; i++) {
            const int8_t x = a[i * a_step], y = b[i * b_step];
            out[i] = x < y ? x : y;
        }
    }
}

static ek_status run(const ek_node *n)
{
    const ek_fmt_min_max_s8 *p = n->params;
    const ek_fmt_broadcast *s = &p->shape;
    const int8_t *a = ek_in(n, 0), *b = ek_in(n, 1);
    int8_t *out = ek_out(n, 0);
    ek_rows r = { 0 };
    do {
        row(out + r.out, a + r.a, b + r.b, s->a[3], s->b[3], s->dims[3], p->is_max);
    } while (ek_rows_next(&r, s));
    return EK_OK;
}

const ek_op ek_op_min_max_s8 = { .inputs_min = 2, .inputs_max = 2, .outputs = 1, .check = check, .run = run };

/* MulS16: int16 Mul, broadcast. */
#include "broadcast.h"
#include "fixed_point.h"

static ek_status check(const ek_node *n)
{
    const ek_fmt_mul_s16 *p = n->params;
    return ek_is_ratio16(p->multiplier, p->shift) && p->qmin <= p->qmax &&
                   ek_check_broadcast(n, &p->shape, EK_DTYPE_INT16)
               ? EK_OK
               : EK_ERR_CORRUPT;
}

static void row(int16_t *out, const int16_t *a, const int16_t *b, size_t a_step, size_t b_step, size_t count,
                const ek_fmt_mul_s16 *p)
{
    const int32_t multiplier = p->multiplier, qmin = p->qmin, qmax = p->qmax;
    const uint32_t shift = p->shift;
    for (size_t i = 0; i < count; i++)
        out[i] = ek_requantize16(a[i * a_step] * b[i * b_step], multiplier, shift, qmin, qmax);
}

static ek_status run(const ek_node *n)
{
    const ek_fmt_mul_s16 *p = n->params;
    const ek_fmt_broadcast *s = &p->shape;
    const int16_t *a = ek_in(n, 0), *b = ek_in(n, 1);
    int16_t *out = ek_out(n, 0);
    ek_rows r = { 0 };
    do {
        row(out + r.out, a + r.a, b + r.b, s->a[3], s->b[3], s->dims[3], p);
    } while (ek_rows_next(&r, s));
    return EK_OK;
}

const ek_op ek_op_mul_s16 = { .inputs_min = 2, .inputs_max = 2, .outputs = 1, .check = check, .run = run };

/* MulS8: int8 Mul, broadcast. */
#include "broadcast.h"

static ek_status check(const ek_node *n)
{
    const ek_fmt_mul_s8 *p = n->params;
    /* |acc| <= 255 * 255, and acc << 14 stays below 2^30. */
    const bool scale = p->multiplier >= 1 << 30 && p->shift >= -30 && p->shift <= 14;
    const bool range = ek_is_s8(p->a_zero) && ek_is_s8(p->b_zero) && ek_is_s8(p->output_zero) && ek_is_s8(p->qmin) &&
                       ek_is_s8(p->qmax);
    return scale && range && ek_check_broadcast(n, &p->shape, EK_DTYPE_INT8) ? EK_OK : EK_ERR_CORRUPT;
}

static ek_status run(const ek_node *n)
{
    const ek_fmt_mul_s8 *p = n->params;
    const ek_fmt_broadcast *s = &p->shape;
    const bool swap = ek_rows_swap(s);
    const ek_mul_s8 mul = {
        .a_zero = swap ? p->b_zero : p->a_zero,
        .b_zero = swap ? p->a_zero : p->b_zero,
        .multiplier = p->multiplier,
        .shift = p->shift,
        .zero_point = p->output_zero,
        .qmin = p->qmin,
        .qmax = p->qmax,
    };
    const int8_t *a = ek_in(n, 0), *b = ek_in(n, 1);
    int8_t *out = ek_out(n, 0);
    ek_rows r = { 0 };
    do {
        const int8_t *x = a + r.a, *y = b + r.b;
        n->kernels->mul_s8(out + r.out, swap ? y : x, swap ? x : y, s->a[3] & s->b[3], s->dims[3], &mul);
    } while (ek_rows_next(&r, s));
    return EK_OK;
}

const ek_op ek_op_mul_s8 = { .inputs_min = 2, .inputs_max = 2, .outputs = 1, .check = check, .run = run };

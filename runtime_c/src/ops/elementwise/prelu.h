/* The body of PRelu, whose files define
 *     ELEMENT, DTYPE   the elements
 *     WIDE             holds (element - zero) * multiplier and 2^29
 *     LIMIT            of multipliers
 */
#ifndef EK_PRELU_H
#define EK_PRELU_H

#include "own.h"
#include "ops/axis.h"
#include "fixed_point.h"

static bool EK_OWN(multiplier_fits)(int32_t multiplier)
{
    return multiplier >= -(LIMIT) && multiplier <= (LIMIT);
}

static bool EK_OWN(check_body)(const ek_node *n, const ek_fmt_prelu *p)
{
    const ek_fmt_axis_view *v = &p->view;
    if (!ek_check_view(n, v, DTYPE) || !ek_check_out(n, 0, DTYPE, ek_mul64(ek_mul64(v->outer, v->axis), v->inner)) ||
        !ek_check_blob(n, p->table, (uint64_t)v->axis * sizeof(int32_t), 4) || p->shift < 1 || p->shift > 30)
        return false;
    const int32_t *slopes = ek_blob(n, p->table);
    for (uint32_t i = 0; i < v->axis; i++)
        if (!EK_OWN(multiplier_fits)(slopes[i])) return false;
    return EK_OWN(multiplier_fits)(p->multiplier);
}

static void EK_OWN(row)(ELEMENT *out, const ELEMENT *in, const int32_t *slopes, size_t step, size_t count,
                        const ek_fmt_prelu *p)
{
    const int32_t above = p->multiplier, input_zero = p->input_zero, shift = p->shift;
    const WIDE half = (WIDE)1 << (shift - 1), zero = p->output_zero, qmin = p->qmin, qmax = p->qmax;
    for (size_t i = 0; i < count; i++) {
        const int32_t d = in[i] - input_zero, below = slopes[i * step];
        const WIDE q = (((WIDE)d * (d >= 0 ? above : below) + half) >> shift) + zero;
        out[i] = (ELEMENT)(q < qmin ? qmin : q > qmax ? qmax : q);
    }
}

static ek_status EK_OWN(run)(const ek_node *n)
{
    const ek_fmt_prelu *p = n->params;
    const size_t axis = p->view.axis, inner = p->view.inner;
    const int32_t *slopes = ek_blob(n, p->table);
    const ELEMENT *in = ek_in(n, 0);
    ELEMENT *out = ek_out(n, 0);
    for (size_t o = 0; o < p->view.outer; o++, in += axis * inner, out += axis * inner) {
        if (inner == 1)
            EK_OWN(row)(out, in, slopes, 1, axis, p);
        else
            for (size_t c = 0; c < axis; c++) EK_OWN(row)(out + c * inner, in + c * inner, slopes + c, 0, inner, p);
    }
    return EK_OK;
}

#endif

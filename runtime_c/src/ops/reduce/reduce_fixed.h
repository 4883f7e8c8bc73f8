/* The body of Reduce on integers, whose files define ELEMENT, DTYPE, TOTAL, the type of sums, and LANES, how
 * many of them a contiguous axis takes, EK_BODY before this, and the functions that are declared first: maximum leaves
 * in out[j] the greatest of it and in[i * c + j], i < count, for j < c.
 */
#ifndef EK_REDUCE_FIXED_H
#define EK_REDUCE_FIXED_H

#include "own.h"
#include "ops/axis.h"

static bool EK_OWN(check_mean)(const ek_fmt_reduce *p);
static void EK_OWN(mean)(const ek_node *n, ELEMENT *out, const ELEMENT *in);
static void EK_OWN(maximum)(const ek_node *n, ELEMENT *out, const ELEMENT *in, size_t count, size_t c);

static bool EK_OWN(is_extreme)(const ek_fmt_reduce *p)
{
    return p->fn == EK_REDUCE_FN_MAX || p->fn == EK_REDUCE_FN_MIN;
}

static ek_status EK_OWN(check)(const ek_node *n)
{
    const ek_fmt_reduce *p = n->params;
    const ek_fmt_axis_view *v = &p->view;
    if (!ek_check_view(n, v, DTYPE) || !ek_check_out(n, 0, DTYPE, ek_mul64(v->outer, v->inner))) return EK_ERR_CORRUPT;
    const bool is_sum = p->fn == EK_REDUCE_FN_MEAN || p->fn == EK_REDUCE_FN_SUM;
    return EK_OWN(is_extreme)(p) || (is_sum && EK_OWN(check_mean)(p)) ? EK_OK : EK_ERR_CORRUPT;
}

static uint64_t EK_OWN(scratch)(const ek_node *n)
{
    const ek_fmt_reduce *p = n->params;
    return EK_OWN(is_extreme)(p) ? 0 : sizeof(TOTAL) * (uint64_t)(p->view.inner == 1 ? LANES : p->view.inner);
}

static void EK_OWN(minimum)(ELEMENT *out, const ELEMENT *in, size_t count, size_t c)
{
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < c; j++) out[j] = in[i * c + j] < out[j] ? in[i * c + j] : out[j];
}

static ek_status EK_OWN(run)(const ek_node *n)
{
    const ek_fmt_reduce *p = n->params;
    const size_t axis = p->view.axis, inner = p->view.inner;
    const ELEMENT *in = ek_in(n, 0);
    ELEMENT *out = ek_out(n, 0);
    for (size_t o = 0; o < p->view.outer; o++, in += axis * inner, out += inner) {
        if (!EK_OWN(is_extreme)(p)) {
            EK_OWN(mean)(n, out, in);
            continue;
        }
        memcpy(out, in, inner * sizeof *out);
        if (p->fn == EK_REDUCE_FN_MAX)
            EK_OWN(maximum)(n, out, in + inner, axis - 1, inner);
        else
            EK_OWN(minimum)(out, in + inner, axis - 1, inner);
    }
    return EK_OK;
}

#endif

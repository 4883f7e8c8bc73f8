/* The body of Reduce on integers, whose files define ELEMENT, DTYPE, TOTAL, the type of sums, and LANES, how
 * many of them a contiguous axis takes; `params`; and, before this,
 *     static bool check_mean(const params *p)
 *     static void mean(const ek_node *n, ELEMENT *out, const ELEMENT *in)
 *     static void maximum(const ek_node *n, ELEMENT *out, const ELEMENT *in, size_t count, size_t c)
 * the last of which leaves in out[j] the greatest of it and in[i * c + j], i < count, for j < c.
 */
#include "ops/axis.h"

static bool is_extreme(const params *p)
{
    return p->fn == EK_REDUCE_FN_MAX || p->fn == EK_REDUCE_FN_MIN;
}

static ek_status check(const ek_node *n)
{
    const params *p = n->params;
    const ek_fmt_axis_view *v = &p->view;
    if (!ek_check_view(n, v, DTYPE) || !ek_check_out(n, 0, DTYPE, ek_mul64(v->outer, v->inner))) return EK_ERR_CORRUPT;
    const bool is_sum = p->fn == EK_REDUCE_FN_MEAN || p->fn == EK_REDUCE_FN_SUM;
    return is_extreme(p) || (is_sum && check_mean(p)) ? EK_OK : EK_ERR_CORRUPT;
}

static uint64_t scratch(const ek_node *n)
{
    const params *p = n->params;
    return is_extreme(p) ? 0 : sizeof(TOTAL) * (uint64_t)(p->view.inner == 1 ? LANES : p->view.inner);
}

static void minimum(ELEMENT *out, const ELEMENT *in, size_t count, size_t c)
{
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < c; j++) out[j] = in[i * c + j] < out[j] ? in[i * c + j] : out[j];
}

static ek_status run(const ek_node *n)
{
    const params *p = n->params;
    const size_t axis = p->view.axis, inner = p->view.inner;
    const ELEMENT *in = ek_in(n, 0);
    ELEMENT *out = ek_out(n, 0);
    for (size_t o = 0; o < p->view.outer; o++, in += axis * inner, out += inner) {
        if (!is_extreme(p)) {
            mean(n, out, in);
            continue;
        }
        memcpy(out, in, inner * sizeof *out);
        if (p->fn == EK_REDUCE_FN_MAX)
            maximum(n, out, in + inner, axis - 1, inner);
        else
            minimum(out, in + inner, axis - 1, inner);
    }
    return EK_OK;
}

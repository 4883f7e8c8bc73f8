#include "ops/axis.h"

/* exp(-scale * d) for d of 16 bits: high[d >> 8] * low[d & 255], which are 2^16 and 2^15 at most. */
enum { HIGH_BITS = 16, LOW_BITS = 15, PARTS = 256 };

typedef struct exponential {
    const uint32_t *high;
    const uint16_t *low;
} exponential;

static exponential exponential_of(const ek_node *n)
{
    const ek_fmt_softmax *p = n->params;
    const uint32_t *high = ek_blob(n, p->table);
    return (exponential){ high, (const uint16_t *)(high + PARTS) };
}

static inline uint32_t softmax_s16_value(exponential e, uint32_t d)
{
    return (e.high[d >> 8] * e.low[d & 0xff] + (1u << (LOW_BITS - 1))) >> LOW_BITS;
}

/* No product and no sum of `axis` exponentials leaves 32 bits, and the largest is not 0. */
static bool softmax_s16_check_table(const ek_node *n, const ek_fmt_softmax *p)
{
    if (p->log || !ek_check_blob(n, p->table, PARTS * (sizeof(uint32_t) + sizeof(uint16_t)), 4)) return false;
    const exponential e = exponential_of(n);
    for (uint32_t i = 0; i < PARTS; i++) {
        const bool sums = ek_mul64(e.high[i], p->view.axis) <= UINT32_MAX;
        if (!sums || e.high[i] > UINT32_C(1) << HIGH_BITS || e.low[i] > 1u << LOW_BITS) return false;
    }
    return softmax_s16_value(e, 0) > 0;
}

static ek_status softmax_s16_check(const ek_node *n)
{
    const ek_fmt_softmax *p = n->params;
    const ek_fmt_axis_view *v = &p->view;
    return ek_check_view(n, v, EK_DTYPE_INT16) &&
                   ek_check_out(n, 0, EK_DTYPE_INT16, ek_mul64(ek_mul64(v->outer, v->axis), v->inner)) &&
                   softmax_s16_check_table(n, p)
               ? EK_OK
               : EK_ERR_CORRUPT;
}

/* One line of `axis` elements, `step` apart; out may be in. */
static void softmax_s16_softmax(int16_t *out, const int16_t *in, size_t axis, size_t step, exponential e)
{
    int32_t most = in[0];
    for (size_t i = 1; i < axis; i++) most = in[i * step] > most ? in[i * step] : most;
    uint32_t sum = 0;
    for (size_t i = 0; i < axis; i++) sum += softmax_s16_value(e, (uint32_t)(most - in[i * step]));
    for (size_t i = 0; i < axis; i++) {
        const uint32_t q = (softmax_s16_value(e, (uint32_t)(most - in[i * step])) * 32768 + sum / 2) / sum;
        out[i * step] = (int16_t)(q < 32767 ? q : 32767);
    }
}

static ek_status softmax_s16_run(const ek_node *n)
{
    const ek_fmt_softmax *p = n->params;
    const size_t axis = p->view.axis, inner = p->view.inner;
    const exponential e = exponential_of(n);
    const int16_t *in = ek_in(n, 0);
    int16_t *out = ek_out(n, 0);
    for (size_t o = 0; o < p->view.outer; o++, in += axis * inner, out += axis * inner)
        for (size_t j = 0; j < inner; j++) softmax_s16_softmax(out + j, in + j, axis, inner, e);
    return EK_OK;
}

const ek_op ek_op_softmax_s16 = { .inputs_min = 1,
                                  .inputs_max = 1,
                                  .outputs = 1,
                                  .in_place = EK_INPUT_0,
                                  .check = softmax_s16_check,
                                  .run = softmax_s16_run };

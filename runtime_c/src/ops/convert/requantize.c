/* Requantize: one integer quantization to another, where a table of 256 entries does not serve. */
#include "fixed_point.h"
#include "ops/heavy_checks.h"

static bool check_range(uint8_t dtype, int32_t zero, int32_t qmin, int32_t qmax)
{
    if (dtype == EK_DTYPE_INT8) return ek_check_q_range(zero, qmin, qmax);
    return dtype == EK_DTYPE_INT16 && !zero && ek_check_q_range16(qmin, qmax);
}

static ek_status requantize_check(const ek_node *n)
{
    const ek_fmt_requantize *p = n->params;
    const ek_fmt_tensor_type *in = ek_in_type(n, 0), *out = ek_out_type(n, 0);
    if (in->dtype == EK_DTYPE_INT8 && out->dtype == EK_DTYPE_INT8) return EK_ERR_CORRUPT;
    const bool ranges =
        check_range(in->dtype, p->input_zero, 0, 0) && check_range(out->dtype, p->output_zero, p->qmin, p->qmax);
    const bool fits = ek_check_in(n, 0, in->dtype, p->count) && ek_check_out(n, 0, out->dtype, p->count);
    return ranges && fits && ek_is_ratio16(p->multiplier, p->shift) ? EK_OK : EK_ERR_CORRUPT;
}

/* For shifts within these, 32 bits suffice: the multiplier is 2^12 times one part plus another, and the products of the
 * second lose 12 bits that are shifted out anyway. */
enum { SPLIT = 12, LEAST_SHIFT = SPLIT + 1, MOST_SHIFT = SPLIT + 30 };

#define REQUANTIZE(name, from, to)                                                           \
    static void name(to *out, const from *in, const ek_fmt_requantize *p)                    \
    {                                                                                        \
        const ek_fmt_requantize r = *p;                                                      \
        const int16_t zero = (int16_t)r.input_zero, high = (int16_t)(r.multiplier >> SPLIT); \
        const int16_t low = (int16_t)(r.multiplier & ((1 << SPLIT) - 1));                    \
        if (r.shift < LEAST_SHIFT || r.shift > MOST_SHIFT) {                                 \
            for (size_t i = 0; i < r.count; i++) {                                           \
                const int32_t q = ek_scale16(in[i] - zero, r.multiplier, (uint32_t)r.shift); \
                out[i] = (to)ek_clamp(q + r.output_zero, r.qmin, r.qmax);                    \
            }                                                                                \
            return;                                                                          \
        }                                                                                    \
        const int32_t right = r.shift - SPLIT, half = 1 << (right - 1);                      \
        EK_ELEMENTWISE                                                                       \
        for (size_t i = 0; i < r.count; i++) {                                               \
            const int16_t d = (int16_t)(in[i] - zero);                                       \
            const int32_t q = (d * high + ((d * low) >> SPLIT) + half) >> right;             \
            out[i] = (to)ek_clamp(q + r.output_zero, r.qmin, r.qmax);                        \
        }                                                                                    \
    }

REQUANTIZE(s8_s16, int8_t, int16_t)
REQUANTIZE(s16_s8, int16_t, int8_t)
REQUANTIZE(s16_s16, int16_t, int16_t)

static ek_status requantize_run(const ek_node *n)
{
    const ek_fmt_requantize *p = n->params;
    if (ek_in_type(n, 0)->dtype == EK_DTYPE_INT8)
        s8_s16(ek_out(n, 0), ek_in(n, 0), p);
    else if (ek_out_type(n, 0)->dtype == EK_DTYPE_INT8)
        s16_s8(ek_out(n, 0), ek_in(n, 0), p);
    else
        s16_s16(ek_out(n, 0), ek_in(n, 0), p);
    return EK_OK;
}

const ek_op ek_op_requantize = { .inputs_min = 1,
                                 .inputs_max = 1,
                                 .outputs = 1,
                                 .in_place = EK_INPUT_0,
                                 .check = requantize_check,
                                 .run = requantize_run };

/* The body of LayerNormS8 and LayerNormS16, whose files define
 *     ELEMENT, DTYPE   the elements
 *     LARGEST          of element - zero: |.| <= LARGEST, and any two differ by 2 * LARGEST at most
 *     LONGEST          line: 2 * LARGEST * LONGEST <= 2^31
 */
#include "axis.h"
#include "fixed_point.h"

/* LayerNormS8 and LayerNormS16 are the same struct. */
typedef ek_fmt_layer_norm_s8 params;

enum { BIAS_BITS = 12 }; /* below the output's step */

#define MULTIPLIER_LIMIT (INT32_C(1) << 30)
#define SUM_LIMIT        (INT64_C(1) << 60)

/* The bits behind the point of a normalized element, which is sqrt(axis) at most: together 28. */
static int32_t normal_bits(uint32_t axis)
{
    int32_t bits = 28;
    for (uint64_t square = 1; square < axis; square *= 4) bits--;
    return bits;
}

static bool check_table(const ek_node *n, const params *p)
{
    if (!ek_check_blob(n, p->table, ek_mul64(p->channels, 2 * sizeof(int32_t)), 4)) return false;
    const int32_t *multiplier = ek_blob(n, p->table), *bias = multiplier + p->channels;
    for (uint32_t c = 0; c < p->channels; c++) {
        const int64_t most = SUM_LIMIT >> (p->shift - BIAS_BITS);
        if (multiplier[c] < -MULTIPLIER_LIMIT || multiplier[c] > MULTIPLIER_LIMIT) return false;
        if (bias[c] < -most || bias[c] > most) return false;
    }
    return true;
}

/* No radicand reaches 2^63. */
static bool check_radicand(const params *p)
{
    const uint64_t line = (uint64_t)p->view.axis * LARGEST; /* 2^30 at most */
    return p->radicand_shift <= 46 && p->radicand_shift % 2 == 0 &&
           line * line <= UINT64_C(1) << (62 - p->radicand_shift) && p->epsilon_high < UINT32_C(1) << 30;
}

static bool check_body(const ek_node *n, const params *p)
{
    const ek_fmt_axis_view *v = &p->view;
    return ek_check_view(n, v, DTYPE) && ek_check_out(n, 0, DTYPE, ek_mul64(ek_mul64(v->outer, v->axis), v->inner)) &&
           v->axis <= LONGEST && p->centered <= 1 && p->channels && p->step && p->shift >= BIAS_BITS &&
           p->shift <= 60 && check_radicand(p) && check_table(n, p);
}

/* A line's elements, each `count` * (element - zero) less `sum`, are to be multiplied by this. */
typedef struct normalizer {
    int32_t sum, factor, shift;
} normalizer;

static normalizer normalizer_of(const ELEMENT *in, const params *p)
{
    const size_t axis = p->view.axis, step = p->view.inner;
    int32_t sum = 0;
    int64_t squares = 0;
    for (size_t i = 0; i < axis; i++) {
        const int32_t c = in[i * step] - p->input_zero;
        sum += c;
        squares += c * c;
    }
    if (!p->centered) sum = 0;
    const int64_t variance = (int64_t)axis * squares - (int64_t)sum * sum;
    if (variance == 0) return (normalizer){ sum, 0, 1 };
    const int64_t epsilon = (int64_t)p->epsilon_high * (INT64_C(1) << 32) + p->epsilon_low;
    int32_t exponent;
    const int32_t factor = ek_inverse_root(variance * (INT64_C(1) << p->radicand_shift) + epsilon, &exponent);
    return (normalizer){ sum, factor, 44 + exponent - p->radicand_shift / 2 - normal_bits(p->view.axis) };
}

/* Where in the table an element's scale and bias are. */
typedef struct channel {
    size_t at, phase;
} channel;

static inline channel add(channel a, channel b, const params *p)
{
    channel c = { a.at + b.at, a.phase + b.phase };
    if (c.phase >= p->step) c.phase -= p->step, c.at++;
    if (c.at >= p->channels) c.at -= p->channels;
    return c;
}

static channel channel_of(size_t index, const params *p)
{
    return (channel){ index / p->step % p->channels, index % p->step };
}

/* One line; out may be in. */
static void line(ELEMENT *out, const ELEMENT *in, channel at, channel next, const int32_t *table, const params *p)
{
    const normalizer z = normalizer_of(in, p);
    const int32_t count = (int32_t)p->view.axis, shift = p->shift, qmin = p->qmin, qmax = p->qmax;
    const int32_t *bias = table + p->channels;
    const int64_t normal_half = INT64_C(1) << (z.shift - 1), half = INT64_C(1) << (shift - 1);
    const int64_t bias_unit = INT64_C(1) << (shift - BIAS_BITS);
    for (size_t i = 0; i < p->view.axis; i++, at = add(at, next, p)) {
        const size_t j = i * p->view.inner;
        const int32_t d = count * (in[j] - p->input_zero) - z.sum;
        const int32_t normal = (int32_t)(((int64_t)d * z.factor + normal_half) >> z.shift);
        const int64_t q = ((int64_t)normal * table[at.at] + bias[at.at] * bias_unit + half) >> shift;
        out[j] = (ELEMENT)(q < qmin ? qmin : q > qmax ? qmax : q);
    }
}

static ek_status run(const ek_node *n)
{
    const params *p = n->params;
    const size_t inner = p->view.inner, block = p->view.axis * inner;
    const channel next = channel_of(inner, p);
    const int32_t *table = ek_blob(n, p->table);
    const ELEMENT *in = ek_in(n, 0);
    ELEMENT *out = ek_out(n, 0);
    for (size_t o = 0; o < p->view.outer; o++)
        for (size_t j = 0; j < inner; j++) {
            const size_t first = o * block + j;
            line(out + first, in + first, channel_of(first, p), next, table, p);
        }
    return EK_OK;
}

/* The body of LayerNorm on integers, whose files define
 *     ELEMENT, DTYPE   the elements
 *     LARGEST          |element - zero|
 */
#ifndef EK_LAYER_NORM_H
#define EK_LAYER_NORM_H

#include "own.h"
#include "ops/axis.h"
#include "fixed_point.h"

enum {
    BIAS_BITS = 12,     /* below the output's step */
    MOST_WIDENING = 15, /* an element's left shift */
};

#define LINE_LIMIT       (UINT64_C(1) << 30) /* sum of |element - zero|, shifted */
#define MULTIPLIER_LIMIT (INT32_C(1) << 30)
#define SUM_LIMIT        (INT64_C(1) << 60)

/* The bits behind the point of a normalized element, which is sqrt(axis) at most: together 28. */
static int32_t EK_OWN(normal_bits)(uint32_t axis)
{
    int32_t bits = 28;
    for (uint64_t square = 1; square < axis; square *= 4) bits--;
    return bits;
}

static const uint8_t *EK_OWN(left_shifts)(const ek_node *n, const ek_fmt_layer_norm *p)
{
    return p->widening ? (const uint8_t *)ek_blob(n, p->table) + (size_t)8 * p->channels : NULL;
}

static bool EK_OWN(check_table)(const ek_node *n, const ek_fmt_layer_norm *p)
{
    if (!ek_check_blob(n, p->table, ek_mul64(p->channels, p->widening ? 9 : 8), 4)) return false;
    const uint8_t *left = EK_OWN(left_shifts)(n, p);
    for (uint32_t c = 0; left && c < p->channels; c++)
        if (left[c] > p->widening) return false;
    const int32_t *multiplier = ek_blob(n, p->table), *bias = multiplier + p->channels;
    for (uint32_t c = 0; c < p->channels; c++) {
        const int64_t most = SUM_LIMIT >> (p->shift - BIAS_BITS);
        if (multiplier[c] < -MULTIPLIER_LIMIT || multiplier[c] > MULTIPLIER_LIMIT) return false;
        if (bias[c] < -most || bias[c] > most) return false;
    }
    return true;
}

/* No radicand reaches 2^63. */
static bool EK_OWN(check_radicand)(const ek_fmt_layer_norm *p)
{
    if (p->widening > MOST_WIDENING) return false;
    const uint64_t EK_OWN(line) = (uint64_t)p->view.axis * ((uint32_t)LARGEST << p->widening);
    return EK_OWN(line) <= LINE_LIMIT && p->radicand_shift <= 46 && p->radicand_shift % 2 == 0 &&
           EK_OWN(line) * EK_OWN(line) <= UINT64_C(1) << (62 - p->radicand_shift) &&
           p->epsilon_high < UINT32_C(1) << 30;
}

static bool EK_OWN(check_body)(const ek_node *n, const ek_fmt_layer_norm *p)
{
    const ek_fmt_axis_view *v = &p->view;
    return ek_check_view(n, v, DTYPE) && ek_check_out(n, 0, DTYPE, ek_mul64(ek_mul64(v->outer, v->axis), v->inner)) &&
           p->centered <= 1 && p->channels && p->step && p->shift >= BIAS_BITS && p->shift <= 60 &&
           EK_OWN(check_radicand)(p) && EK_OWN(check_table)(n, p);
}

/* Where in the table an element's scale and bias are. */
typedef struct channel {
    size_t at, phase;
} channel;

static channel EK_OWN(channel_of)(size_t index, const ek_fmt_layer_norm *p)
{
    return (channel){ index / p->step % p->channels, index % p->step };
}

static inline channel EK_OWN(add)(channel a, channel b, const ek_fmt_layer_norm *p)
{
    channel c = { a.at + b.at, a.phase + b.phase };
    if (c.phase >= p->step) c.phase -= p->step, c.at++;
    if (c.at >= p->channels) c.at -= p->channels;
    return c;
}

/* From a line's element of `first` on, elements are `inner` apart. In a plain line, neighbours are, and element i
 * is of channel i. `left` is NULL where there are no shifts. */
typedef struct walk {
    channel first, next;
    size_t inner;
    const uint8_t *left;
    bool plain;
} walk;

static inline channel EK_OWN(channel_behind)(const walk *w, size_t i, channel at, const ek_fmt_layer_norm *p)
{
    return w->plain ? (channel){ i + 1, 0 } : EK_OWN(add)(at, w->next, p);
}

/* An element less its zero point, in the finest channel's steps. */
static inline int32_t EK_OWN(value)(ELEMENT x, const walk *w, channel at, const ek_fmt_layer_norm *p)
{
    const int32_t c = x - p->input_zero;
    return w->left ? c * (INT32_C(1) << w->left[at.at]) : c;
}

/* A line's elements, each `count` * value less `sum`, are to be multiplied by this. */
typedef struct normalizer {
    int32_t sum, factor, shift;
} normalizer;

static inline normalizer EK_OWN(normalizer_of)(const ELEMENT *in, const walk *w, const ek_fmt_layer_norm *p)
{
    const size_t axis = p->view.axis;
    int32_t sum = 0;
    int64_t squares = 0;
    channel at = w->first;
    for (size_t i = 0; i < axis; at = EK_OWN(channel_behind)(w, i, at, p), i++) {
        const int32_t c = EK_OWN(value)(in[w->plain ? i : i * w->inner], w, at, p);
        sum += c;
        squares += (int64_t)c * c;
    }
    if (!p->centered) sum = 0;
    const int64_t variance = (int64_t)axis * squares - (int64_t)sum * sum;
    if (variance == 0) return (normalizer){ sum, 0, 1 };
    const int64_t epsilon = (int64_t)p->epsilon_high * (INT64_C(1) << 32) + p->epsilon_low;
    int32_t exponent;
    const int32_t factor = ek_inverse_root(variance * (INT64_C(1) << p->radicand_shift) + epsilon, &exponent);
    return (normalizer){ sum, factor, 44 + exponent - p->radicand_shift / 2 - EK_OWN(normal_bits)(p->view.axis) };
}

/* One line; out may be in. */
static inline void EK_OWN(line)(ELEMENT *out, const ELEMENT *in, const walk *w, const int32_t *table,
                                const ek_fmt_layer_norm *p)
{
    const normalizer z = EK_OWN(normalizer_of)(in, w, p);
    const int32_t count = (int32_t)p->view.axis, shift = p->shift, qmin = p->qmin, qmax = p->qmax;
    const int32_t *bias = table + p->channels;
    const int64_t normal_half = INT64_C(1) << (z.shift - 1), half = INT64_C(1) << (shift - 1);
    const int64_t bias_unit = INT64_C(1) << (shift - BIAS_BITS);
    channel at = w->first;
    for (size_t i = 0; i < p->view.axis; at = EK_OWN(channel_behind)(w, i, at, p), i++) {
        const size_t j = w->plain ? i : i * w->inner;
        const int32_t d = count * EK_OWN(value)(in[j], w, at, p) - z.sum;
        const int32_t normal = (int32_t)(((int64_t)d * z.factor + normal_half) >> z.shift);
        const int64_t q = ((int64_t)normal * table[at.at] + bias[at.at] * bias_unit + half) >> shift;
        out[j] = (ELEMENT)(q < qmin ? qmin : q > qmax ? qmax : q);
    }
}

static ek_status EK_OWN(run)(const ek_node *n)
{
    const ek_fmt_layer_norm *p = n->params;
    const size_t inner = p->view.inner, axis = p->view.axis;
    const bool plain = inner == 1 && p->step == 1 && p->channels == axis;
    const int32_t *table = ek_blob(n, p->table);
    const ELEMENT *in = ek_in(n, 0);
    ELEMENT *out = ek_out(n, 0);
    walk w = { .next = EK_OWN(channel_of)(inner, p), .inner = inner, .left = EK_OWN(left_shifts)(n, p) };
    for (size_t o = 0; o < p->view.outer; o++)
        for (size_t j = 0; j < inner; j++) {
            const size_t first = o * axis * inner + j;
            w.first = EK_OWN(channel_of)(first, p);
            if (plain) /* known to the compiler in this copy of line */
                w.plain = true, EK_OWN(line)(out + first, in + first, &w, table, p);
            else
                w.plain = false, EK_OWN(line)(out + first, in + first, &w, table, p);
        }
    return EK_OK;
}

#endif

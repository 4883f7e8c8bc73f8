#include <math.h>

#include "clamp_f32.h"
#include "ops/axis.h"

/* Sums are built of parts of PART terms in each of LANES columns: a running sum of a long line would lose digits. */
enum { LANES = 16, PART = 64 };

static ek_status layer_norm_f32_check(const ek_node *n)
{
    const ek_fmt_layer_norm *p = n->params;
    const ek_fmt_axis_view *v = &p->view;
    return ek_check_view(n, v, EK_DTYPE_FLOAT32) &&
                   ek_check_out(n, 0, EK_DTYPE_FLOAT32, ek_mul64(ek_mul64(v->outer, v->axis), v->inner)) &&
                   p->centered <= 1 && p->channels && p->step &&
                   ek_check_blob(n, p->table, ek_mul64(p->channels, 3 * sizeof(float)), 4)
               ? EK_OK
               : EK_ERR_CORRUPT;
}

/* A line of elements `inner` apart, each multiplied by its channel's factor. In a plain line, neighbours are, and
 * element i is of channel i. */
typedef struct samples {
    const float *in, *factor;
    size_t first, axis, inner, step, channels;
    bool plain;
} samples;

static inline size_t layer_norm_f32_channel_of(const samples *s, size_t i)
{
    return s->plain ? i : (s->first + i * s->inner) / s->step % s->channels;
}

static inline float sample(const samples *s, size_t i)
{
    return s->in[s->first + (s->plain ? i : i * s->inner)] * s->factor[layer_norm_f32_channel_of(s, i)];
}

/* Of x, or of (x - mean)^2. */
static inline float layer_norm_f32_term(const samples *s, size_t i, bool square, float mean)
{
    const float x = sample(s, i) - mean;
    return square ? x * x : x;
}

static inline float sum_of(const samples *s, bool square, float mean)
{
    float sum = 0.0f;
    for (size_t i = 0; i < s->axis; i += PART * LANES) {
        const size_t count = s->axis - i < PART * LANES ? s->axis - i : PART * LANES, rest = count % LANES;
        float part[LANES] = { 0 }, total = 0.0f;
        for (size_t k = i; k < i + count - rest; k += LANES)
            for (size_t j = 0; j < LANES; j++) part[j] += layer_norm_f32_term(s, k + j, square, mean);
        for (size_t j = 0; j < rest; j++) part[j] += layer_norm_f32_term(s, i + count - rest + j, square, mean);
        for (size_t j = 0; j < LANES; j++) total += part[j];
        sum += total;
    }
    return sum;
}

/* out may be in. */
static inline void layer_norm_f32_line(float *out, const samples *s, const ek_fmt_layer_norm *p)
{
    const float *scale = s->factor - 2 * s->channels, *bias = s->factor - s->channels;
    const float count = (float)s->axis, mean = p->centered ? sum_of(s, false, 0.0f) / count : 0.0f;
    const float inverse = 1.0f / sqrtf(sum_of(s, true, mean) / count + ek_f32((int32_t)p->epsilon_low));
    const float min = ek_f32(p->qmin), max = ek_f32(p->qmax);
    for (size_t i = 0; i < s->axis; i++) {
        const size_t c = layer_norm_f32_channel_of(s, i);
        const float y = (sample(s, i) - mean) * inverse * scale[c] + bias[c];
        out[s->first + (s->plain ? i : i * s->inner)] = ek_clamp_f32(y, min, max);
    }
}

static ek_status layer_norm_f32_run(const ek_node *n)
{
    const ek_fmt_layer_norm *p = n->params;
    const float *table = ek_blob(n, p->table);
    samples s = { .in = ek_in(n, 0),
                  .factor = table + 2 * (size_t)p->channels,
                  .axis = p->view.axis,
                  .inner = p->view.inner,
                  .step = p->step,
                  .channels = p->channels };
    const bool plain = s.inner == 1 && s.step == 1 && s.channels == s.axis;
    for (size_t o = 0; o < p->view.outer; o++)
        for (size_t j = 0; j < s.inner; j++) {
            s.first = o * s.axis * s.inner + j;
            if (plain) /* known to the compiler in this copy of line */
                s.plain = true, layer_norm_f32_line(ek_out(n, 0), &s, p);
            else
                s.plain = false, layer_norm_f32_line(ek_out(n, 0), &s, p);
        }
    return EK_OK;
}

const ek_op ek_op_layer_norm_f32 = { .inputs_min = 1,
                                     .inputs_max = 1,
                                     .outputs = 1,
                                     .in_place = EK_INPUT_0,
                                     .check = layer_norm_f32_check,
                                     .run = layer_norm_f32_run };

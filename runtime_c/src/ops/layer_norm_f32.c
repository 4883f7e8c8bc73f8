#include <math.h>

#include "axis.h"

/* Sums are built of parts of PART terms: a running sum of a long line would lose digits. */
enum { LANES = 16, PART = 64 * LANES };

static ek_status check(const ek_node *n)
{
    const ek_fmt_layer_norm_f32 *p = n->params;
    const ek_fmt_axis_view *v = &p->view;
    return ek_check_view(n, v, EK_DTYPE_FLOAT32) &&
                   ek_check_out(n, 0, EK_DTYPE_FLOAT32, ek_mul64(ek_mul64(v->outer, v->axis), v->inner)) &&
                   p->centered <= 1 && p->channels && p->step &&
                   ek_check_blob(n, p->table, ek_mul64(p->channels, 2 * sizeof(float)), 4)
               ? EK_OK
               : EK_ERR_CORRUPT;
}

/* Of all x, or of all (x - mean)^2. */
static float sum_of(const float *in, size_t axis, size_t step, const float *mean)
{
    float sum = 0.0f;
    for (size_t i = 0; i < axis; i += PART) {
        const size_t count = axis - i < PART ? axis - i : PART;
        float part[LANES] = { 0 }, total = 0.0f;
        for (size_t k = 0; k < count; k++) {
            const float x = in[(i + k) * step];
            part[k % LANES] += mean ? (x - *mean) * (x - *mean) : x;
        }
        for (size_t k = 0; k < LANES; k++) total += part[k];
        sum += total;
    }
    return sum;
}

/* One line, from element `first` on; out may be in. */
static void line(float *out, const float *in, size_t first, const float *table, const ek_fmt_layer_norm_f32 *p)
{
    const size_t axis = p->view.axis, inner = p->view.inner;
    const float count = (float)p->view.axis, *bias = table + p->channels;
    const float mean = p->centered ? sum_of(in + first, axis, inner, NULL) / count : 0.0f;
    const float factor = 1.0f / sqrtf(sum_of(in + first, axis, inner, &mean) / count + p->epsilon);
    for (size_t i = 0; i < axis; i++) {
        const size_t j = first + i * inner, c = j / p->step % p->channels;
        const float y = (in[j] - mean) * factor * table[c] + bias[c];
        out[j] = y < p->min ? p->min : y > p->max ? p->max : y;
    }
}

static ek_status run(const ek_node *n)
{
    const ek_fmt_layer_norm_f32 *p = n->params;
    const size_t inner = p->view.inner, block = p->view.axis * inner;
    for (size_t o = 0; o < p->view.outer; o++)
        for (size_t j = 0; j < inner; j++) line(ek_out(n, 0), ek_in(n, 0), o * block + j, ek_blob(n, p->table), p);
    return EK_OK;
}

const ek_op ek_op_layer_norm_f32 = { .inputs_min = 1, .inputs_max = 1, .outputs = 1, .check = check, .run = run };

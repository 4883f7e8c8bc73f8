/* Distances of every row of one tensor to every row of another. */
#include <math.h>

#include "op.h"

static ek_status distance_f32_check(const ek_node *n)
{
    const ek_fmt_distance *p = n->params;
    const bool fits = p->rows && p->columns && p->features && p->fn <= EK_DISTANCE_FN_MANHATTAN &&
                      ek_check_in(n, 0, EK_DTYPE_FLOAT32, ek_mul64(p->rows, p->features)) &&
                      ek_check_in(n, 1, EK_DTYPE_FLOAT32, ek_mul64(p->columns, p->features)) &&
                      ek_check_out(n, 0, EK_DTYPE_FLOAT32, ek_mul64(p->rows, p->columns));
    return fits ? EK_OK : EK_ERR_CORRUPT;
}

static float distance(const float *a, const float *b, uint32_t features, uint32_t fn)
{
    float sum = 0.0f;
    for (uint32_t i = 0; i < features; i++) {
        const float d = a[i] - b[i];
        sum += fn == EK_DISTANCE_FN_MANHATTAN ? fabsf(d) : d * d;
    }
    return fn == EK_DISTANCE_FN_EUCLIDEAN ? sqrtf(sum) : sum;
}

static ek_status distance_f32_run(const ek_node *n)
{
    const ek_fmt_distance *p = n->params;
    const float *a = ek_in(n, 0), *b = ek_in(n, 1);
    float *out = ek_out(n, 0);
    for (size_t r = 0; r < p->rows; r++)
        for (size_t c = 0; c < p->columns; c++)
            *out++ = distance(a + r * p->features, b + c * p->features, p->features, p->fn);
    return EK_OK;
}

const ek_op ek_op_distance_f32 = {
    .inputs_min = 2, .inputs_max = 2, .outputs = 1, .check = distance_f32_check, .run = distance_f32_run
};

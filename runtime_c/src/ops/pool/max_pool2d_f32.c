#include <math.h>

#include "pool.h"

#define ELEMENT float
#define EK_BODY max_pool2d_f32
#include "pool_run.h"

static ek_status max_pool2d_f32_check(const ek_node *n)
{
    const ek_fmt_max_pool2d *p = n->params;
    return ek_check_pool(n, &p->geometry, EK_DTYPE_FLOAT32) ? EK_OK : EK_ERR_CORRUPT;
}

static void max_pool2d_f32_window(const ek_node *n, float *restrict out, const float *restrict image, ek_span rows,
                                  ek_span columns)
{
    const ek_fmt_max_pool2d *p = n->params;
    const size_t c = p->geometry.in_c;
    const ek_runs r = ek_pool_runs(&p->geometry, rows, columns);
    for (size_t j = 0; j < c; j++) out[j] = -INFINITY;
    for (size_t i = 0; i < r.runs; i++) {
        const float *in = image + r.first + i * r.run_step;
        for (size_t k = 0; k < r.count; k++, in += r.step)
            for (size_t j = 0; j < c; j++) out[j] = in[j] > out[j] ? in[j] : out[j];
    }
}

const ek_op ek_op_max_pool2d_f32 = {
    .inputs_min = 1, .inputs_max = 1, .outputs = 1, .check = max_pool2d_f32_check, .run = EK_OWN(run)
};

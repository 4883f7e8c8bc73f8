#include <math.h>

#include "pool.h"

static ek_status check(const ek_node *n)
{
    const ek_fmt_max_pool2d_f32 *p = n->params;
    return ek_check_pool(n, &p->geometry, EK_DTYPE_FLOAT32) ? EK_OK : EK_ERR_CORRUPT;
}

static void window_max(float *restrict out, const float *restrict image, const ek_runs *r, size_t c)
{
    for (size_t j = 0; j < c; j++) out[j] = -INFINITY;
    for (size_t i = 0; i < r->runs; i++) {
        const float *in = image + r->first + i * r->run_step;
        for (size_t k = 0; k < r->count; k++, in += r->step)
            for (size_t j = 0; j < c; j++) out[j] = in[j] > out[j] ? in[j] : out[j];
    }
}

static ek_status run(const ek_node *n)
{
    const ek_fmt_max_pool2d_f32 *p = n->params;
    const ek_fmt_conv_geometry *g = &p->geometry;
    const float *image = ek_in(n, 0);
    float *out = ek_out(n, 0);
    for (uint32_t b = 0; b < g->batch; b++, image += (size_t)g->in_h * g->in_w * g->in_c) {
        for (uint32_t oy = 0; oy < g->out_h; oy++) {
            const ek_span rows = ek_pool_rows(g, oy);
            for (uint32_t ox = 0; ox < g->out_w; ox++, out += g->in_c) {
                const ek_runs r = ek_pool_runs(g, rows, ek_pool_columns(g, ox));
                window_max(out, image, &r, g->in_c);
            }
        }
    }
    return EK_OK;
}

const ek_op ek_op_max_pool2d_f32 = { .inputs_min = 1, .inputs_max = 1, .outputs = 1, .check = check, .run = run };

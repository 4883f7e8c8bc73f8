#include "pool.h"

#define ELEMENT float
#define EK_BODY avg_pool2d_f32
#include "pool_run.h"

static ek_status avg_pool2d_f32_check(const ek_node *n)
{
    const ek_fmt_avg_pool2d *p = n->params;
    return ek_check_pool(n, &p->geometry, EK_DTYPE_FLOAT32) && p->counts <= 1 ? EK_OK : EK_ERR_CORRUPT;
}

/* One run's sums: adding those up, not single elements, keeps large windows exact enough. */
static uint64_t avg_pool2d_f32_scratch(const ek_node *n)
{
    const ek_fmt_avg_pool2d *p = n->params;
    return (uint64_t)p->geometry.in_c * sizeof(float);
}

enum { RUN = 64 };

static void add_run(float *restrict sum, float *restrict part, const float *restrict in, size_t step, size_t count,
                    size_t c)
{
    for (size_t j = 0; j < c; j++) part[j] = in[j];
    for (size_t k = 1; k < count; k++)
        for (size_t j = 0; j < c; j++) part[j] += in[k * step + j];
    for (size_t j = 0; j < c; j++) sum[j] += part[j];
}

static void avg_pool2d_f32_window(const ek_node *n, float *out, const float *image, ek_span rows, ek_span columns)
{
    const ek_fmt_avg_pool2d *p = n->params;
    const ek_fmt_conv_geometry *g = &p->geometry;
    const ek_runs r = ek_pool_runs(g, rows, columns);
    const uint32_t inside = rows.count * columns.count;
    const uint32_t divisor = p->counts ? (uint32_t)g->kernel_h * g->kernel_w : inside;
    const size_t c = g->in_c;
    for (size_t j = 0; j < c; j++) out[j] = 0.0f;
    for (size_t i = 0; i < r.runs; i++) {
        const float *in = image + r.first + i * r.run_step;
        for (size_t k = 0; k < r.count; k += RUN)
            add_run(out, n->scratch, in + k * r.step, r.step, r.count - k < RUN ? r.count - k : RUN, c);
    }
    for (size_t j = 0; j < c; j++) out[j] /= (float)(divisor ? divisor : 1);
}

const ek_op ek_op_avg_pool2d_f32 = { .inputs_min = 1,
                                     .inputs_max = 1,
                                     .outputs = 1,
                                     .check = avg_pool2d_f32_check,
                                     .scratch = avg_pool2d_f32_scratch,
                                     .run = EK_OWN(run) };

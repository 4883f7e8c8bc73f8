#include "pool.h"
#include "sums_s16.h"

static ek_status check(const ek_node *n)
{
    const ek_fmt_max_pool2d_s16 *p = n->params;
    return ek_check_pool(n, &p->geometry, EK_DTYPE_INT16) ? EK_OK : EK_ERR_CORRUPT;
}

static ek_status run(const ek_node *n)
{
    const ek_fmt_max_pool2d_s16 *p = n->params;
    const ek_fmt_conv_geometry *g = &p->geometry;
    const int16_t *image = ek_in(n, 0);
    int16_t *out = ek_out(n, 0);
    const size_t c = g->in_c;
    for (uint32_t b = 0; b < g->batch; b++, image += (size_t)g->in_h * g->in_w * c) {
        for (uint32_t oy = 0; oy < g->out_h; oy++) {
            const ek_span rows = ek_pool_rows(g, oy);
            for (uint32_t ox = 0; ox < g->out_w; ox++, out += c) {
                const ek_runs r = ek_pool_runs(g, rows, ek_pool_columns(g, ox));
                for (size_t j = 0; j < c; j++) out[j] = EK_LEAST_S16;
                for (size_t i = 0; i < r.runs; i++)
                    ek_max_s16(out, image + r.first + i * r.run_step, r.step, r.count, c);
            }
        }
    }
    return EK_OK;
}

const ek_op ek_op_max_pool2d_s16 = { .inputs_min = 1, .inputs_max = 1, .outputs = 1, .check = check, .run = run };

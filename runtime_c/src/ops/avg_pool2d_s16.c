#include "pool.h"
#include "sums_s16.h"

static bool check_table(const ek_node *n, const ek_fmt_avg_pool2d_s16 *p)
{
    const uint64_t most = ek_pool_most(&p->geometry);
    if ((p->counts != 1 && p->counts != most) || !ek_check_blob(n, p->table, (uint64_t)p->counts * 5, 4)) return false;
    const int32_t *multiplier = ek_blob(n, p->table);
    const uint8_t *shift = (const uint8_t *)(multiplier + p->counts);
    for (uint32_t i = 0; i < p->counts; i++)
        if (!ek_check_sum_s16(most, multiplier[i], shift[i])) return false;
    return true;
}

static ek_status check(const ek_node *n)
{
    const ek_fmt_avg_pool2d_s16 *p = n->params;
    return ek_check_pool(n, &p->geometry, EK_DTYPE_INT16) && p->qmin <= p->qmax && check_table(n, p) ? EK_OK
                                                                                                     : EK_ERR_CORRUPT;
}

static uint64_t scratch(const void *params, const ek_kernels *kernels)
{
    const ek_fmt_avg_pool2d_s16 *p = params;
    (void)kernels;
    return (uint64_t)p->geometry.in_c * sizeof(int64_t);
}

static void window_mean(const ek_node *n, int16_t *out, const int16_t *image, ek_span rows, ek_span columns)
{
    const ek_fmt_avg_pool2d_s16 *p = n->params;
    const size_t c = p->geometry.in_c;
    int64_t *acc = n->scratch;
    const ek_runs r = ek_pool_runs(&p->geometry, rows, columns);
    memset(acc, 0, c * sizeof *acc);
    for (size_t i = 0; i < r.runs; i++) ek_sum_s16(acc, image + r.first + i * r.run_step, r.step, r.count, c);

    const int32_t *multipliers = ek_blob(n, p->table), qmin = p->qmin, qmax = p->qmax;
    const uint8_t *shifts = (const uint8_t *)(multipliers + p->counts);
    const uint32_t count = rows.count * columns.count, entry = p->counts == 1 || count == 0 ? 0 : count - 1;
    const int32_t multiplier = multipliers[entry];
    const uint32_t shift = shifts[entry];
    for (size_t j = 0; j < c; j++) out[j] = ek_requantize16(acc[j], multiplier, shift, qmin, qmax);
}

static ek_status run(const ek_node *n)
{
    const ek_fmt_avg_pool2d_s16 *p = n->params;
    const ek_fmt_conv_geometry *g = &p->geometry;
    const int16_t *image = ek_in(n, 0);
    int16_t *out = ek_out(n, 0);
    for (uint32_t b = 0; b < g->batch; b++, image += (size_t)g->in_h * g->in_w * g->in_c) {
        for (uint32_t oy = 0; oy < g->out_h; oy++) {
            const ek_span rows = ek_pool_rows(g, oy);
            for (uint32_t ox = 0; ox < g->out_w; ox++, out += g->in_c)
                window_mean(n, out, image, rows, ek_pool_columns(g, ox));
        }
    }
    return EK_OK;
}

const ek_op ek_op_avg_pool2d_s16 = {
    .inputs_min = 1, .inputs_max = 1, .outputs = 1, .check = check, .scratch = scratch, .run = run
};

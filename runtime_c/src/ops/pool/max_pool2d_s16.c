#include "pool.h"
#include "ops/sums_s16.h"

#define ELEMENT int16_t
#define EK_BODY max_pool2d_s16
#include "pool_run.h"

static ek_status max_pool2d_s16_check(const ek_node *n)
{
    const ek_fmt_max_pool2d *p = n->params;
    return ek_check_pool(n, &p->geometry, EK_DTYPE_INT16) ? EK_OK : EK_ERR_CORRUPT;
}

static void max_pool2d_s16_window(const ek_node *n, int16_t *out, const int16_t *image, ek_span rows, ek_span columns)
{
    const ek_fmt_max_pool2d *p = n->params;
    const size_t c = p->geometry.in_c;
    const ek_runs r = ek_pool_runs(&p->geometry, rows, columns);
    for (size_t j = 0; j < c; j++) out[j] = EK_LEAST_S16;
    for (size_t i = 0; i < r.runs; i++) ek_max_s16(out, image + r.first + i * r.run_step, r.step, r.count, c);
}

const ek_op ek_op_max_pool2d_s16 = {
    .inputs_min = 1, .inputs_max = 1, .outputs = 1, .check = max_pool2d_s16_check, .run = EK_OWN(run)
};

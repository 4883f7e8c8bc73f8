#include "fixed_point.h"
#include "ops/heavy_checks.h"
#include "mat_mul.h"

enum { K_LIMIT = 512 }; /* fewer products of int16 stay below 2^39 */

static ek_status mat_mul_s16_check(const ek_node *node)
{
    const ek_fmt_mat_mul *p = node->params;
    const ek_mat_mul m = { p->batch, p->rows, p->k, p->n, p->a_step, p->b_step };
    if (p->k >= K_LIMIT || !ek_is_ratio16(p->multiplier, p->shift) || p->a_zero || p->b_zero || p->output_zero ||
        !ek_check_q_range16(p->qmin, p->qmax) || !ek_check_mat_mul(node, &m, EK_DTYPE_INT16))
        return EK_ERR_CORRUPT;
    return EK_OK;
}

/* b as [n][k], unless it lies so. */
static uint64_t mat_mul_s16_scratch(const ek_node *node)
{
    const ek_fmt_mat_mul *p = node->params;
    return p->transpose_b ? 0 : ek_mul64((uint64_t)p->n * p->k, sizeof(int16_t));
}

static const int16_t *turned(const ek_node *node, const int16_t *b)
{
    const ek_fmt_mat_mul *p = node->params;
    if (p->transpose_b) return b;
    int16_t *to = node->scratch;
    for (size_t j = 0; j < p->n; j++)
        for (size_t i = 0; i < p->k; i++) to[j * p->k + i] = b[i * p->n + j];
    return to;
}

static ek_status mat_mul_s16_run(const ek_node *node)
{
    const ek_fmt_mat_mul *p = node->params;
    const int16_t *a = ek_in(node, 0), *b = ek_in(node, 1);
    int16_t *out = ek_out(node, 0);
    ek_mat_mul_s16 m = {
        .multiplier = p->multiplier, .qmin = p->qmin, .qmax = p->qmax, .shift = (uint32_t)p->shift, .n = p->n, .k = p->k
    };
    for (size_t i = 0; i < p->batch; i++) {
        if (i == 0 || p->b_step) m.b = turned(node, b + i * p->b_step);
        node->kernels->mat_mul_s16(out + i * p->rows * p->n, a + i * p->a_step, p->rows, &m);
    }
    return EK_OK;
}

const ek_op ek_op_mat_mul_s16 = {
    .inputs_min = 2,
    .inputs_max = 2,
    .outputs = 1,
    .check = mat_mul_s16_check,
    .scratch = mat_mul_s16_scratch,
    .run = mat_mul_s16_run,
};

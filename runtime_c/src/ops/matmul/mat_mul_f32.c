#include <math.h>

#include "ops/heavy_checks.h"
#include "mat_mul.h"

static ek_status mat_mul_f32_check(const ek_node *node)
{
    const ek_fmt_mat_mul *p = node->params;
    const ek_mat_mul m = { p->batch, p->rows, p->k, p->n, p->a_step, p->b_step };
    return ek_check_mat_mul(node, &m, EK_DTYPE_FLOAT32) ? EK_OK : EK_ERR_CORRUPT;
}

/* b as weights [n][k], unless it lies so. */
static uint64_t turned_bytes(const ek_fmt_mat_mul *p)
{
    return p->transpose_b ? 0 : ek_align16(ek_mul64((uint64_t)p->n * p->k, sizeof(float)));
}

static uint64_t mat_mul_f32_scratch(const ek_node *node)
{
    const ek_fmt_mat_mul *p = node->params;
    return ek_add64(turned_bytes(p), ek_packed_bytes(node->kernels->packed_gemm_f32, p->n, p->k));
}

static const void *weights(const ek_node *node, const float *b)
{
    const ek_fmt_mat_mul *p = node->params;
    uint8_t *packed = (uint8_t *)node->scratch + turned_bytes(p);
    if (!p->transpose_b) {
        float *turned = node->scratch;
        for (size_t j = 0; j < p->n; j++)
            for (size_t i = 0; i < p->k; i++) turned[j * p->k + i] = b[i * p->n + j];
        b = turned;
    }
    if (!node->kernels->packed_gemm_f32) return b;
    node->kernels->pack_gemm_f32(packed, b, p->n, p->k);
    return packed;
}

static ek_status mat_mul_f32_run(const ek_node *node)
{
    const ek_fmt_mat_mul *p = node->params;
    const float *a = ek_in(node, 0), *b = ek_in(node, 1);
    float *out = ek_out(node, 0);
    ek_gemm_f32 gemm = { .min = -INFINITY, .max = INFINITY, .n = p->n, .k = p->k };
    for (size_t i = 0; i < p->batch; i++) {
        if (i == 0 || p->b_step) gemm.weights = weights(node, b + i * p->b_step);
        node->kernels->gemm_f32(out + i * p->rows * p->n, p->n, a + i * p->a_step, p->k, p->rows, &gemm);
    }
    return EK_OK;
}

const ek_op ek_op_mat_mul_f32 = {
    .inputs_min = 2,
    .inputs_max = 2,
    .outputs = 1,
    .check = mat_mul_f32_check,
    .scratch = mat_mul_f32_scratch,
    .run = mat_mul_f32_run,
};

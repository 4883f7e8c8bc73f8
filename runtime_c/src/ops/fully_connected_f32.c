#include "heavy_checks.h"

static ek_status check(const ek_node *node)
{
    const ek_fmt_fully_connected_f32 *p = node->params;
    if (!p->rows || !p->k || !p->n || !ek_check_in(node, 0, EK_DTYPE_FLOAT32, (uint64_t)p->rows * p->k) ||
        !ek_check_out(node, 0, EK_DTYPE_FLOAT32, (uint64_t)p->rows * p->n) ||
        !ek_check_blob(node, p->weights, ek_mul64((uint64_t)p->n * p->k, sizeof(float)), sizeof(float)) ||
        !ek_check_bias_f32(node, p->bias, p->n))
        return EK_ERR_CORRUPT;
    return EK_OK;
}

static size_t packed_bytes(const ek_node *node)
{
    const ek_fmt_fully_connected_f32 *p = node->params;
    return node->kernels->packed_gemm_f32 ? node->kernels->packed_gemm_f32(p->n, p->k) : 0;
}

static inline void pack(const ek_node *node, void *packed)
{
    const ek_fmt_fully_connected_f32 *p = node->params;
    node->kernels->pack_gemm_f32(packed, ek_blob(node, p->weights), p->n, p->k);
}

static ek_status run(const ek_node *node)
{
    const ek_fmt_fully_connected_f32 *p = node->params;
    const ek_gemm_f32 gemm = { .weights = node->packed ? node->packed : ek_blob(node, p->weights),
                               .bias = ek_bias_f32(node, p->bias),
                               .min = p->min,
                               .max = p->max,
                               .n = p->n,
                               .k = p->k };
    node->kernels->gemm_f32(ek_out(node, 0), p->n, ek_in(node, 0), p->k, p->rows, &gemm);
    return EK_OK;
}

const ek_op ek_op_fully_connected_f32 = {
    .inputs_min = 1,
    .inputs_max = 1,
    .outputs = 1,
    .check = check,
    .packed_bytes = packed_bytes,
    .pack = EK_OP_PACK(pack),
    .weights_at = offsetof(ek_fmt_fully_connected_f32, weights),
    .run = run,
};

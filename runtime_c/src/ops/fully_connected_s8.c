#include "heavy_checks.h"

static ek_status check(const ek_node *node)
{
    const ek_fmt_fully_connected_s8 *p = node->params;
    if (!p->rows || !p->k || !p->n || !ek_check_in(node, 0, EK_DTYPE_INT8, (uint64_t)p->rows * p->k) ||
        !ek_check_out(node, 0, EK_DTYPE_INT8, (uint64_t)p->rows * p->n) ||
        !ek_check_blob(node, p->weights, (uint64_t)p->n * p->k, 1) || !ek_check_requant(node, &p->requant, p->n, p->n))
        return EK_ERR_CORRUPT;
    return EK_OK;
}

static size_t packed_bytes(const ek_node *node)
{
    const ek_fmt_fully_connected_s8 *p = node->params;
    return node->kernels->packed_gemm_s8 ? node->kernels->packed_gemm_s8(p->n, p->k) : 0;
}

static inline void pack(const ek_node *node, void *packed)
{
    const ek_fmt_fully_connected_s8 *p = node->params;
    node->kernels->pack_gemm_s8(packed, ek_blob(node, p->weights), ek_blob(node, p->requant.table), p->n, p->k);
}

static ek_status run(const ek_node *node)
{
    const ek_fmt_fully_connected_s8 *p = node->params;
    const ek_gemm_s8 gemm = { .weights = node->packed ? node->packed : ek_blob(node, p->weights),
                              .requant = ek_requant_of(node, &p->requant, p->n, p->n),
                              .n = p->n,
                              .k = p->k };
    node->kernels->gemm_s8(ek_out(node, 0), p->n, ek_in(node, 0), p->k, p->rows, &gemm);
    return EK_OK;
}

const ek_op ek_op_fully_connected_s8 = {
    .inputs_min = 1,
    .inputs_max = 1,
    .outputs = 1,
    .check = check,
    .packed_bytes = packed_bytes,
    .pack = EK_OP_PACK(pack),
    .weights_at = offsetof(ek_fmt_fully_connected_s8, weights),
    .run = run,
};

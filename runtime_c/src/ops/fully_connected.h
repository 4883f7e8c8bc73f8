/* The body of fully_connected_*.c, which defines ek_params and EK_OP and includes a gemm_*.h before it. */

static ek_status check(const ek_node *node)
{
    const ek_params *p = node->params;
    const uint64_t weights = ek_mul64((uint64_t)p->n * p->k, sizeof(ek_weight));
    if (!p->rows || !p->k || !p->n || !ek_check_in(node, 0, EK_ELEMENT_DTYPE, (uint64_t)p->rows * p->k) ||
        !ek_check_out(node, 0, EK_ELEMENT_DTYPE, (uint64_t)p->rows * p->n) ||
        !ek_check_blob(node, p->weights, weights, sizeof(ek_weight)) || !EK_CHECK_TAIL(node, p, p->n, p->n))
        return EK_ERR_CORRUPT;
    return EK_OK;
}

static uint64_t packed_bytes(const ek_node *node)
{
    const ek_params *p = node->params;
    return ek_gemm_packed(node->kernels, p->n, p->k);
}

static inline ek_gemm product(const ek_node *node)
{
    const ek_params *p = node->params;
    return (ek_gemm){ .weights = ek_blob(node, p->weights), EK_TAIL(node, p, p->n, p->n), .n = p->n, .k = p->k };
}

static inline void pack(const ek_node *node, void *packed)
{
    const ek_gemm gemm = product(node);
    ek_gemm_pack(node->kernels, packed, &gemm);
}

static ek_status run(const ek_node *node)
{
    const ek_params *p = node->params;
    ek_gemm gemm = product(node);
    if (node->packed) gemm.weights = node->packed;
    ek_gemm_run(node->kernels, ek_out(node, 0), p->n, ek_in(node, 0), p->k, p->rows, &gemm);
    return EK_OK;
}

const ek_op EK_OP = {
    .inputs_min = 1,
    .inputs_max = 1,
    .outputs = 1,
    .check = check,
    .packed_bytes = packed_bytes,
    .pack = EK_OP_PACK(pack),
    .weights_at = offsetof(ek_params, weights),
    .run = run,
};

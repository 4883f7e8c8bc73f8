/* The body of fully_connected_w4*.c, which define ek_params, EK_OP and EK_ROW_W4 (the kernel) and include a w4_*.h
 * before it. */

/* That are multiplied with nibbles; more of them with weights that were unpacked. */
enum { MOST_ROWS = 3 };

static ek_status check(const ek_node *node)
{
    const ek_params *p = node->params;
    if (!p->rows || !p->k || !p->n || !ek_check_in(node, 0, EK_ELEMENT_DTYPE, (uint64_t)p->rows * p->k) ||
        !ek_check_out(node, 0, EK_ELEMENT_DTYPE, (uint64_t)p->rows * p->n) ||
        !ek_check_w4(node, p->weights, p->n, p->k, p->group, p->multipliers, p->n, p->k) ||
        !EK_CHECK_TAIL(node, p, p->n, p->n))
        return EK_ERR_CORRUPT;
    return EK_OK;
}

static uint64_t scratch(const void *params, const ek_kernels *kernels)
{
    const ek_params *p = params;
    return p->rows > MOST_ROWS ? EK_W4(scratch)(kernels, p->k, EK_W4_CHANNELS) : 0;
}

static uint64_t packed_bytes(const ek_node *node)
{
    const ek_params *p = node->params;
    return ek_w4_kept(node, ek_gemm_packed(node->kernels, p->n, p->k), ek_align16((uint64_t)p->n * p->k));
}

static ek_w4 weights_of(const ek_node *node)
{
    const ek_params *p = node->params;
    return (ek_w4){ ek_blob(node, p->weights), ek_blob(node, p->multipliers), p->group, p->k };
}

static ek_gemm product(const ek_node *node)
{
    const ek_params *p = node->params;
    return (ek_gemm){ .weights = node->packed, EK_TAIL(node, p, p->n, p->n), .n = p->n, .k = p->k };
}

/* To unpack them before they are packed. */
static inline uint64_t room(const ek_node *node)
{
    const ek_params *p = node->params;
    return ek_gemm_wants_packed(node->kernels) ? ek_align16((uint64_t)p->n * p->k) : 0;
}

static inline void pack(const ek_node *node, void *packed)
{
    const ek_w4 w = weights_of(node);
    ek_gemm gemm = product(node);
    int8_t *plain = (int8_t *)packed + ek_gemm_packed(node->kernels, gemm.n, gemm.k);
    ek_w4_unpack(plain, &w, 0, gemm.n);
    gemm.weights = plain;
    if (ek_gemm_wants_packed(node->kernels)) ek_gemm_pack(node->kernels, packed, &gemm);
}

static void run_rows(const ek_node *node, const ek_gemm *gemm)
{
    const ek_params *p = node->params;
    const ek_w4 w = weights_of(node);
    const ek_kernels *kernels = node->kernels;
    const ek_element *a = ek_in(node, 0);
    ek_element *out = ek_out(node, 0);
    for (uint32_t row = 0; row < p->rows; row++, a += p->k, out += p->n) EK_ROW_W4(out, a, &w, &gemm->requant, p->n);
}

static void run_blocks(const ek_node *node, ek_gemm *gemm)
{
    const ek_params *p = node->params;
    const ek_w4 w = weights_of(node);
    ek_element *out = ek_out(node, 0);
    const uint32_t block = EK_W4(block)(node->kernels, p->k, EK_W4_CHANNELS);
    for (uint32_t first = 0; first < p->n; first += gemm->n) {
        gemm->n = p->n - first < block ? p->n - first : block;
        EK_W4(load)(gemm, node->kernels, &w, first, block, node->scratch);
        ek_gemm_run(node->kernels, out + first, p->n, ek_in(node, 0), p->k, p->rows, gemm);
        ek_gemm_skip(gemm, gemm->n);
    }
}

static ek_status run(const ek_node *node)
{
    const ek_params *p = node->params;
    ek_gemm gemm = product(node);
    if (node->packed)
        ek_gemm_run(node->kernels, ek_out(node, 0), p->n, ek_in(node, 0), p->k, p->rows, &gemm);
    else if (p->rows <= MOST_ROWS)
        run_rows(node, &gemm);
    else
        run_blocks(node, &gemm);
    return EK_OK;
}

const ek_op EK_OP = {
    .inputs_min = 1,
    .inputs_max = 1,
    .outputs = 1,
    .check = check,
    .scratch = scratch,
    .packed_bytes = packed_bytes,
    EK_OP_PACK_IN(room, pack),
    .weights_at = offsetof(ek_params, weights),
    .run = run,
};

/* The body of conv2d_w4*.c, which define ek_params and EK_OP and include a conv2d_*.h and a w4_*.h before it. */

static ek_status check_w4(const ek_node *node)
{
    const ek_params *p = node->params;
    const uint64_t n = p->geometry.out_c, k = ek_conv_k(&p->geometry);
    return EK_CONV2D(check)(node) && ek_check_w4(node, p->weights, n, k, p->group, p->multipliers, n, k)
               ? EK_OK
               : EK_ERR_CORRUPT;
}

static uint64_t scratch_w4(const void *params, const ek_kernels *kernels)
{
    const uint64_t block =
        EK_W4(scratch)(kernels, ek_conv_k(&((const ek_params *)params)->geometry), EK_W4_CONV_CHANNELS);
    return ek_add64(ek_align16(EK_CONV2D(scratch)(params, kernels)), block);
}

static ek_w4 weights_of(const ek_node *node)
{
    const ek_params *p = node->params;
    return (ek_w4){ ek_blob(node, p->weights), ek_blob(node, p->multipliers), p->group,
                    (uint32_t)ek_conv_k(&p->geometry) };
}

static uint64_t packed_w4(const ek_node *node)
{
    const ek_fmt_conv_geometry *g = &((const ek_params *)node->params)->geometry;
    return ek_w4_kept(node, EK_CONV2D(packed_bytes)(node), ek_align16(ek_conv_k(g) * g->out_c));
}

/* To unpack them before they are packed. */
static inline uint64_t room_w4(const ek_node *node)
{
    const ek_fmt_conv_geometry *g = &((const ek_params *)node->params)->geometry;
    return ek_gemm_wants_packed(node->kernels) ? ek_align16(ek_conv_k(g) * g->out_c) : 0;
}

static inline void pack_w4(const ek_node *node, void *packed)
{
    const ek_w4 w = weights_of(node);
    int8_t *plain = (int8_t *)packed + EK_CONV2D(packed_bytes)(node);
    const ek_node n = ek_w4_plain(node, plain);
    ek_w4_unpack(plain, &w, 0, ((const ek_params *)node->params)->geometry.out_c);
    if (ek_gemm_wants_packed(node->kernels)) EK_CONV2D(pack)(&n, packed);
}

static ek_status run_kept(const ek_node *node)
{
    const ek_node n = ek_w4_plain(node, node->packed);
    return EK_CONV2D(run)(ek_gemm_wants_packed(node->kernels) ? node : &n);
}

static ek_status run_w4(const ek_node *node)
{
    if (node->packed) return run_kept(node);
    const ek_fmt_conv_geometry *g = &((const ek_params *)node->params)->geometry;
    const ek_w4 w = weights_of(node);
    const uint32_t all = g->out_c / (uint32_t)g->groups, block = EK_W4(block)(node->kernels, w.k, EK_W4_CONV_CHANNELS);
    uint8_t *room = (uint8_t *)node->scratch + ek_align16(EK_CONV2D(scratch)(node->params, node->kernels));
    for (size_t group = 0; group < g->groups; group++) {
        ek_gemm gemm = EK_CONV2D(product)(node, group);
        for (uint32_t first = 0; first < all; first += gemm.n) {
            gemm.n = all - first < block ? all - first : block;
            EK_W4(load)(&gemm, node->kernels, &w, group * all + first, block, room);
            EK_CONV2D(run_channels)(node, group, first, &gemm);
            ek_gemm_skip(&gemm, gemm.n);
        }
    }
    return EK_OK;
}

const ek_op EK_OP = {
    .inputs_min = 1,
    .inputs_max = 1,
    .outputs = 1,
    .check = check_w4,
    .scratch = scratch_w4,
    .packed_bytes = packed_w4,
    EK_OP_PACK_IN(room_w4, pack_w4),
    .weights_at = offsetof(ek_params, weights),
    .run = run_w4,
};

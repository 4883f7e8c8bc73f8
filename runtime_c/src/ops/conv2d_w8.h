/* The body of conv2d_s8.c and conv2d_s16.c, which define ek_params and EK_OP and include a header of the same name
 * before it. */

static ek_status check(const ek_node *node)
{
    const ek_params *p = node->params;
    const uint64_t weights = ek_mul64(ek_conv_k(&p->geometry), p->geometry.out_c);
    return EK_CONV2D(check)(node) && ek_check_blob(node, p->weights, weights, 1) ? EK_OK : EK_ERR_CORRUPT;
}

const ek_op EK_OP = {
    .inputs_min = 1,
    .inputs_max = 1,
    .outputs = 1,
    .check = check,
    .scratch = EK_CONV2D(scratch),
    .packed_bytes = EK_CONV2D(packed_bytes),
    .pack = EK_OP_PACK(EK_CONV2D(pack)),
    .weights_at = offsetof(ek_params, weights),
    .run = EK_CONV2D(run),
};

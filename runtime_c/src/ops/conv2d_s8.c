#include "gemm_s8.h"
#include "conv2d_s8.h"

static ek_status check(const ek_node *node)
{
    const ek_fmt_conv2d_s8 *p = node->params;
    const uint64_t weights = ek_mul64(ek_conv_k(&p->geometry), p->geometry.out_c);
    return ek_conv2d_s8_check(node) && ek_check_blob(node, p->weights, weights, 1) ? EK_OK : EK_ERR_CORRUPT;
}

const ek_op ek_op_conv2d_s8 = {
    .inputs_min = 1,
    .inputs_max = 1,
    .outputs = 1,
    .check = check,
    .scratch = ek_conv2d_s8_scratch,
    .packed_bytes = ek_conv2d_s8_packed_bytes,
    .pack = EK_OP_PACK(ek_conv2d_s8_pack),
    .weights_at = offsetof(ek_fmt_conv2d_s8, weights),
    .run = ek_conv2d_s8_run,
};

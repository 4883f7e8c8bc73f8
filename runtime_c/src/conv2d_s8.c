/* What ops/conv2d_s8.c and ops/conv2d_w4.c share. */
#include "ops/gemm_s8.h"
#include "ops/conv_lines.h"
#include "ops/conv2d_s8.h"

typedef ek_fmt_conv2d_s8 ek_params;
#include "ops/conv2d.h"

bool ek_conv2d_s8_check(const ek_node *node)
{
    return check_but_weights(node);
}

uint64_t ek_conv2d_s8_scratch(const void *params, const ek_kernels *kernels)
{
    return scratch(params, kernels);
}

uint64_t ek_conv2d_s8_packed_bytes(const ek_node *node)
{
    return packed_bytes(node);
}

void ek_conv2d_s8_pack(const ek_node *node, void *packed)
{
    pack(node, packed);
}

ek_status ek_conv2d_s8_run(const ek_node *node)
{
    return run(node);
}

ek_gemm ek_conv2d_s8_product(const ek_node *node, size_t group)
{
    return product(node, group);
}

void ek_conv2d_s8_run_channels(const ek_node *node, size_t group, size_t first, const ek_gemm *gemm)
{
    run_channels(node, group, first, gemm);
}

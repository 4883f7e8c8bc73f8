/* The body of src/conv2d_s8.c and src/conv2d_s16.c, which include what declares it and define ek_params before it. */
#include "conv2d.h"

bool EK_CONV2D(check)(const ek_node *node)
{
    return check_but_weights(node);
}

uint64_t EK_CONV2D(scratch)(const void *params, const ek_kernels *kernels)
{
    return scratch(params, kernels);
}

uint64_t EK_CONV2D(packed_bytes)(const ek_node *node)
{
    return packed_bytes(node);
}

void EK_CONV2D(pack)(const ek_node *node, void *packed)
{
    pack(node, packed);
}

ek_status EK_CONV2D(run)(const ek_node *node)
{
    return run(node);
}

ek_gemm EK_CONV2D(product)(const ek_node *node, size_t group)
{
    return product(node, group);
}

void EK_CONV2D(run_channels)(const ek_node *node, size_t group, size_t first, const ek_gemm *gemm)
{
    run_channels(node, group, first, gemm);
}

/* Convolution of int8, the same code for Conv2dS8 and Conv2dW4: a file with weights of 4 bits has layers of either.
 * A gemm_s8.h goes before it. */
#ifndef EK_CONV2D_S8_H
#define EK_CONV2D_S8_H

#include "op.h"

/* The parameters of the one begin as all of the other's. */
EK_STATIC_ASSERT(offsetof(ek_fmt_conv2d_w4, weights) == offsetof(ek_fmt_conv2d_s8, weights) &&
                     offsetof(ek_fmt_conv2d_w4, requant) == offsetof(ek_fmt_conv2d_s8, requant),
                 "either is read as Conv2dS8");

/* All but what the weights are checked for. */
bool ek_conv2d_s8_check(const ek_node *node);
uint64_t ek_conv2d_s8_scratch(const void *params, const ek_kernels *kernels);
uint64_t ek_conv2d_s8_packed_bytes(const ek_node *node);
void ek_conv2d_s8_pack(const ek_node *node, void *packed);
ek_status ek_conv2d_s8_run(const ek_node *node);

/* The product of a group with its weights in the file. */
ek_gemm ek_conv2d_s8_product(const ek_node *node, size_t group);
/* Output channels `first` and on of a group, in all images. */
void ek_conv2d_s8_run_channels(const ek_node *node, size_t group, size_t first, const ek_gemm *gemm);

#endif

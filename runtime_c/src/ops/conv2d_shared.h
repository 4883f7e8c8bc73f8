/* What conv2d_s8.h and conv2d_s16.h declare: they include a gemm_*.h before it and define EK_CONV2D. */

/* All but what the weights are checked for. */
bool EK_CONV2D(check)(const ek_node *node);
uint64_t EK_CONV2D(scratch)(const void *params, const ek_kernels *kernels);
uint64_t EK_CONV2D(packed_bytes)(const ek_node *node);
void EK_CONV2D(pack)(const ek_node *node, void *packed);
ek_status EK_CONV2D(run)(const ek_node *node);

/* The product of a group with its weights in the file. */
ek_gemm EK_CONV2D(product)(const ek_node *node, size_t group);
/* Output channels `first` and on of a group, in all images. */
void EK_CONV2D(run_channels)(const ek_node *node, size_t group, size_t first, const ek_gemm *gemm);

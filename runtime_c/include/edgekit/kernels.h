/* The micro-kernels: all heavy work goes through this table. Porting to a chip means filling it. What they
 * have in common is here; kernels.def lists them.
 *
 * ek_kernels_reference() is the meaning of every entry; any other implementation gives the same
 * bytes (integer entries) or stays within 1e-5 relative of it (float entries). A kernel reads and
 * writes exactly the elements named here, at any alignment of its type, and has no error path.
 * Buffers do not overlap, except where an entry says that out may be its input.
 */
#ifndef EDGEKIT_KERNELS_H
#define EDGEKIT_KERNELS_H

#include <stdbool.h>

#include "edgekit/edgekit.h"
#include "edgekit/kernels.def"

#ifdef __cplusplus
extern "C" {
#endif

/* The bytes that packing n x k weights, or those of some taps and channels, takes (a multiple of 16), and
 * the packing itself, into memory aligned to 16. Packed weights may also lie in a hostile file: the kernel
 * must stay inside their bytes whatever they say. */
typedef size_t ek_packed_fn(uint32_t n_or_taps, uint32_t k_or_c);
typedef void ek_pack_gemm_fn(void *packed, const int8_t *weights, const int32_t *bias, uint32_t n, uint32_t k);
typedef void ek_pack_gemm_f32_fn(void *packed, const float *weights, uint32_t n, uint32_t k);
/* `d` holds the weights of the file; the packing may take in its requant too. */
typedef void ek_pack_depthwise_s8_fn(void *packed, const ek_depthwise_s8 *d);
typedef void ek_pack_depthwise_s16_fn(void *packed, const ek_depthwise_s16 *d);

/* ek_NAME_fn, the type of each kernel. */
#define EK_NOTHING(name, of, more)
#define EK_TYPE(name, arguments, users) typedef void ek_##name##_fn arguments;
EK_KERNELS(EK_NOTHING, EK_TYPE, EK_TYPE, EK_NOTHING)
#undef EK_TYPE

/* kernels.def says what each member computes, reads and writes. */
struct ek_kernels {
    const char *name;
#define EK_VALUE_MEMBER(type, name, reference)   type name;
#define EK_KERNEL_MEMBER(name, arguments, users) ek_##name##_fn *name;
#define EK_PACKING_MEMBERS(kernel, type, users) \
    ek_packed_fn *packed_##kernel;              \
    type *pack_##kernel;
    EK_KERNELS(EK_VALUE_MEMBER, EK_KERNEL_MEMBER, EK_KERNEL_MEMBER, EK_PACKING_MEMBERS)
#undef EK_VALUE_MEMBER
#undef EK_KERNEL_MEMBER
#undef EK_PACKING_MEMBERS
};

#ifdef __cplusplus
}
#endif
#endif

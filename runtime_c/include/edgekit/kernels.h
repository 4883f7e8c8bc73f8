/* The kernels: all compute-intensive work goes through this table. Porting to a chip means providing it. This file has
 * the common definitions; kernels.def lists the kernels.
 *
 * ek_kernels_reference() defines the result of every entry. Other implementations give the same bytes (integer entries)
 * or agree within 1e-5 relative (float entries). A kernel reads and writes exactly the elements documented in
 * kernels.def, with the alignment of their type, and cannot fail. Buffers do not overlap, except where an entry says
 * that out may be its input.
 */
#ifndef EDGEKIT_KERNELS_H
#define EDGEKIT_KERNELS_H

#include <stdbool.h>

#include "edgekit/edgekit.h"
#include "edgekit/kernels.def"

#ifdef __cplusplus
extern "C" {
#endif

/* The size of packed n x k weights, or of weights of some taps and channels, in bytes (a multiple of 16, and no less
 * for more n or channels: a part of them may be packed alone), and the packing itself, to memory aligned to 16. Packed
 * weights may come from a malicious file: the kernel must stay inside them for any content. */
typedef size_t ek_packed_fn(uint32_t n_or_taps, uint32_t k_or_c);
typedef void ek_pack_gemm_fn(void *packed, const int8_t *weights, const int32_t *bias, uint32_t n, uint32_t k);
typedef void ek_pack_gemm_f32_fn(void *packed, const float *weights, uint32_t n, uint32_t k);
/* `d` has the weights of the file; the packing may include its requantization too. */
typedef void ek_pack_depthwise_s8_fn(void *packed, const ek_depthwise_s8 *d);
typedef void ek_pack_depthwise_s16_fn(void *packed, const ek_depthwise_s16 *d);

/* ek_NAME_fn, the type of each kernel. */
#define EK_NOTHING(name, of, more)
#define EK_TYPE(name, arguments, users) typedef void ek_##name##_fn arguments;
EK_KERNELS(EK_NOTHING, EK_TYPE, EK_TYPE, EK_NOTHING)
#undef EK_TYPE

/* kernels.def documents what each member computes, reads and writes. */
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

/* The portable kernels, one by one, and as initializer for a table that replaces some of them:
 *     static const ek_kernels mine = { EK_REFERENCE_KERNELS, .name = "mine", .gemm_s8 = mine_gemm };
 */
#ifndef EK_KERNELS_REFERENCE_H
#define EK_KERNELS_REFERENCE_H

#include "edgekit/kernels.h"
#include "edgekit/slots.h"

#define EK_DECLARED(name, arguments, users) ek_##name##_fn ek_##name##_ref;
EK_KERNELS(EK_NOTHING, EK_DECLARED, EK_NOTHING, EK_NOTHING)
#undef EK_DECLARED

#define EK_REFERENCE_VALUE(type, name, reference)   .name = reference,
#define EK_REFERENCE_KERNEL(name, arguments, users) .name = EK_SLOT(name, ek_##name##_ref),
#define EK_REFERENCE_KERNELS EK_KERNELS(EK_REFERENCE_VALUE, EK_REFERENCE_KERNEL, EK_NOTHING, EK_NOTHING).name = "ref"

#endif

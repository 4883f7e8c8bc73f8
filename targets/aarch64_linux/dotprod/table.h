/* What the tables of all cores with the dot product start from. */
#ifndef EK_DOTPROD_TABLE_H
#define EK_DOTPROD_TABLE_H

#include "../neon/table.h"
#include "kernels.h"

/* clang-format off */
#define EK_DOTPROD_KERNELS                                          \
    EK_NEON_KERNELS,                                                \
    .gemm_s8 = ek_dotprod_gemm_s8,                                  \
    .packed_gemm_s8 = ek_dotprod_packed_gemm_s8,                    \
    .pack_gemm_s8 = EK_SLOT(pack_gemm_s8, ek_dotprod_pack_gemm_s8), \
    .depthwise_s8 = ek_dotprod_depthwise_s8,                        \
    .packed_depthwise_s8 = ek_dotprod_packed_depthwise_s8,          \
    .pack_depthwise_s8 = EK_SLOT(pack_depthwise_s8, ek_dotprod_pack_depthwise_s8)
/* clang-format on */

#endif

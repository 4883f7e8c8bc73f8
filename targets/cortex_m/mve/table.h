/* What the table on the device and the one that plans for it on a host must have in common. */
#ifndef EK_CORTEX_M_MVE_TABLE_H
#define EK_CORTEX_M_MVE_TABLE_H

#include "kernels.h"

#define EK_MVE_GEOMETRY                                                                            \
    .name = "cortex_m_mve", .gemm_s8_rows = EK_MVE_GEMM_ROWS, .gemm_s16_rows = EK_MVE_GEMM_ROWS16, \
    .gemm_w4_block = EK_MVE_W4_BLOCK, .packed_gemm_s8 = ek_mve_packed_gemm_s8,                     \
    .packed_depthwise_s8 = ek_mve_packed_depthwise_s8

#endif

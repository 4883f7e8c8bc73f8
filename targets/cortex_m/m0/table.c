#include "edgekit/target.h"
#include "kernels.h"
#include "kernels_ref/reference.h"

static bool supported(void)
{
    return true; /* the build names the core */
}

static const ek_kernels kernels = {
    EK_REFERENCE_KERNELS,
    .name = "cortex_m0",
    .gemm_s8 = EK_SLOT(gemm_s8, ek_m0_gemm_s8),
    .packed_gemm_s8 = ek_m0_packed_gemm_s8,
    .pack_gemm_s8 = EK_SLOT(pack_gemm_s8, ek_m0_pack_gemm_s8),
    .unpack_gemm_w4 = EK_SLOT(unpack_gemm_w4, ek_m0_unpack_gemm_w4),
    .gemm_w4_block = EK_M0_W4_BLOCK,
    .row_w4 = EK_SLOT(row_w4, ek_m0_row_w4),
    .depthwise_s8 = EK_SLOT(depthwise_s8, ek_m0_depthwise_s8),
};

const ek_target ek_target_cortex_m0 = { &kernels, supported };

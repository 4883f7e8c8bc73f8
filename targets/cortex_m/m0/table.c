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
    .gemm_s8 = EK_SLOT_gemm_s8(ek_m0_gemm_s8),
    .packed_gemm_s8 = ek_m0_packed_gemm_s8,
    .pack_gemm_s8 = EK_PACKER(ek_m0_pack_gemm_s8),
    .depthwise_s8 = EK_SLOT_depthwise_s8(ek_m0_depthwise_s8),
};

const ek_target ek_target_cortex_m0 = { &kernels, supported };

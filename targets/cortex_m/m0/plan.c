#include "kernels.h"
#include "kernels_ref/reference.h"

extern const ek_kernels ek_plan_cortex_m0;

const ek_kernels ek_plan_cortex_m0 = {
    EK_REFERENCE_KERNELS,
    .name = "cortex_m0",
    .packed_gemm_s8 = ek_m0_packed_gemm_s8,
    .pack_gemm_s8 = ek_m0_pack_gemm_s8,
    .gemm_w4_block = EK_M0_W4_BLOCK,
};

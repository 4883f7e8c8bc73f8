#include "kernels_ref/reference.h"
#include "table.h"

extern const ek_kernels ek_plan_cortex_m_mve;

const ek_kernels ek_plan_cortex_m_mve = {
    EK_REFERENCE_KERNELS,
    EK_MVE_GEOMETRY,
    .packed_gemm_s16 = ek_mve_packed_gemm_s16,
    .pack_gemm_s16 = ek_mve_pack_gemm_s16,
    .pack_gemm_s8 = ek_mve_pack_gemm_s8,
    .pack_depthwise_s8 = ek_mve_pack_depthwise_s8,
};

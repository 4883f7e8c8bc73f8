#include "kernels_ref/reference.h"
#include "table.h"

extern const ek_kernels ek_plan_cortex_m_mve;

const ek_kernels ek_plan_cortex_m_mve = {
    EK_REFERENCE_KERNELS,
    EK_MVE_GEOMETRY,
    .pack_gemm_s8 = ek_mve_pack_gemm_s8,
    .pack_depthwise_s8 = ek_mve_pack_depthwise_s8,
};

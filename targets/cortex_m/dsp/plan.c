#include "kernels.h"
#include "kernels_ref/reference.h"

extern const ek_kernels ek_plan_cortex_m_dsp;

const ek_kernels ek_plan_cortex_m_dsp = {
    EK_REFERENCE_KERNELS,
    .name = "cortex_m_dsp",
    .gemm_s8_rows = EK_DSP_GEMM_ROWS,
    .packed_gemm_s8 = ek_dsp_packed_gemm_s8,
    .pack_gemm_s8 = ek_dsp_pack_gemm_s8,
    .vecmat_s8_rows = EK_DSP_VECMAT_ROWS,
    .gemm_w4_block = EK_DSP_W4_BLOCK,
    .gemm_s16_rows = EK_DSP_GEMM_ROWS16,
    .packed_gemm_s16 = ek_dsp_packed_gemm_s16,
    .pack_gemm_s16 = ek_dsp_pack_gemm_s16,
    .packed_depthwise_s8 = ek_dsp_packed_depthwise_s8,
    .pack_depthwise_s8 = ek_dsp_pack_depthwise_s8,
};

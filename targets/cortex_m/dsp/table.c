#include "edgekit/target.h"
#include "kernels.h"
#include "kernels_ref/reference.h"

static bool supported(void)
{
    return true; /* the build names the core */
}

static const ek_kernels kernels = {
    EK_REFERENCE_KERNELS,
    .name = "cortex_m_dsp",
    .gemm_s8_rows = EK_DSP_GEMM_ROWS,
    .gemm_s8 = EK_SLOT(gemm_s8, ek_dsp_gemm_s8),
    .packed_gemm_s8 = ek_dsp_packed_gemm_s8,
    .pack_gemm_s8 = EK_SLOT(pack_gemm_s8, ek_dsp_pack_gemm_s8),
    .unpack_gemm_w4 = EK_SLOT(unpack_gemm_w4, ek_dsp_unpack_gemm_w4),
    .gemm_w4_block = EK_DSP_W4_BLOCK,
    .row_w4 = EK_SLOT(row_w4, ek_dsp_row_w4),
    .row_w4_s16 = EK_SLOT(row_w4_s16, ek_dsp_row_w4_s16),
    .vecmat_s8_rows = EK_DSP_VECMAT_ROWS,
    .vecmat_s8 = EK_SLOT(vecmat_s8, ek_dsp_vecmat_s8),
    .gemm_s16_rows = EK_DSP_GEMM_ROWS16,
    .gemm_s16 = EK_SLOT(gemm_s16, ek_dsp_gemm_s16),
    .packed_gemm_s16 = EK_SLOT(gemm_s16, ek_dsp_packed_gemm_s16),
    .pack_gemm_s16 = EK_SLOT(pack_gemm_s16, ek_dsp_pack_gemm_s16),
    .depthwise_s8 = EK_SLOT(depthwise_s8, ek_dsp_depthwise_s8),
    .packed_depthwise_s8 = ek_dsp_packed_depthwise_s8,
    .pack_depthwise_s8 = EK_SLOT(pack_depthwise_s8, ek_dsp_pack_depthwise_s8),
    .depthwise_s16 = EK_SLOT(depthwise_s16, ek_dsp_depthwise_s16),
    .add_s8 = EK_SLOT(add_s8, ek_dsp_add_s8),
    .add_s16 = EK_SLOT(add_s16, ek_dsp_add_s16),
    .sum_s8 = EK_SLOT(sum_s8, ek_dsp_sum_s8),
    .max_s8 = EK_SLOT(max_s8, ek_dsp_max_s8),
};

const ek_target ek_target_cortex_m_dsp = { &kernels, supported };

#include "table.h"
#include "edgekit/target.h"
#include "kernels_ref/reference.h"

static bool supported(void)
{
    return true; /* the build names the core */
}

static const ek_kernels kernels = {
    EK_REFERENCE_KERNELS,
    EK_MVE_GEOMETRY,
    .pack_gemm_s8 = EK_SLOT(pack_gemm_s8, ek_mve_pack_gemm_s8),
    .pack_depthwise_s8 = EK_SLOT(pack_depthwise_s8, ek_mve_pack_depthwise_s8),
    .gemm_s8 = EK_SLOT(gemm_s8, ek_mve_gemm_s8),
    .unpack_gemm_w4 = EK_SLOT(unpack_gemm_w4, ek_mve_unpack_gemm_w4),
    .row_w4 = EK_SLOT(row_w4, ek_mve_row_w4),
    .row_w4_s16 = EK_SLOT(row_w4_s16, ek_mve_row_w4_s16),
    .vecmat_s8 = EK_SLOT(vecmat_s8, ek_mve_vecmat_s8),
    .packed_gemm_s16 = EK_SLOT(gemm_s16, ek_mve_packed_gemm_s16),
    .pack_gemm_s16 = EK_SLOT(pack_gemm_s16, ek_mve_pack_gemm_s16),
    .gemm_s16 = EK_SLOT(gemm_s16, ek_mve_gemm_s16),
    .depthwise_s8 = EK_SLOT(depthwise_s8, ek_mve_depthwise_s8),
    .depthwise_s16 = EK_SLOT(depthwise_s16, ek_mve_depthwise_s16),
    .add_s8 = EK_SLOT(add_s8, ek_mve_add_s8),
    .add_s16 = EK_SLOT(add_s16, ek_mve_add_s16),
    .mul_s8 = EK_SLOT(mul_s8, ek_mve_mul_s8),
    .lut_s8 = EK_SLOT(lut_s8, ek_mve_lut_s8),
    .lut_s16 = EK_SLOT(lut_s16, ek_mve_lut_s16),
    .channel_lut_s8 = EK_SLOT(channel_lut_s8, ek_mve_channel_lut_s8),
    .sum_s8 = EK_SLOT(sum_s8, ek_mve_sum_s8),
    .max_s8 = EK_SLOT(max_s8, ek_mve_max_s8),
    .quantize_f32_s8 = EK_SLOT(quantize_f32_s8, ek_mve_quantize_f32_s8),
    .quantize_f32_s16 = EK_SLOT(quantize_f32_s16, ek_mve_quantize_f32_s16),
    .copy = EK_SLOT(copy, ek_mve_copy),
};

const ek_target ek_target_cortex_m_mve = { &kernels, supported };

#include "edgekit/target.h"
#include "kernels_ref/reference.h"
#include "kernels.h"

/* Every core that this code is built for has HVX; who runs it has to power it (docs/deploy-hexagon.md). */
static bool supported(void)
{
    return true;
}

static const ek_kernels kernels = {
    EK_REFERENCE_KERNELS,
    .name = "hexagon_hvx",
    .gemm_s8_rows = 48,
    .gemm_s8_parts = 1,
    .gemm_s8 = ek_hvx_gemm_s8,
    .packed_gemm_s8 = ek_hvx_packed_gemm_s8,
    .pack_gemm_s8 = ek_hvx_pack_gemm_s8,
    .gemm_s16_rows = 48,
    .gemm_s16 = EK_SLOT(gemm_s16, ek_hvx_gemm_s16),
    .packed_gemm_s16 = EK_SLOT(gemm_s16, ek_hvx_packed_gemm_s16),
    .pack_gemm_s16 = EK_SLOT(pack_gemm_s16, ek_hvx_pack_gemm_s16),
    .depthwise_s8 = ek_hvx_depthwise_s8,
    .packed_depthwise_s8 = ek_hvx_packed_depthwise_s8,
    .pack_depthwise_s8 = ek_hvx_pack_depthwise_s8,
    .depthwise_s16 = EK_SLOT(depthwise_s16, ek_hvx_depthwise_s16),
    .packed_depthwise_s16 = EK_SLOT(depthwise_s16, ek_hvx_packed_depthwise_s16),
    .pack_depthwise_s16 = EK_SLOT(pack_depthwise_s16, ek_hvx_pack_depthwise_s16),
    .add_s8 = ek_hvx_add_s8,
    .add_s16 = EK_SLOT(add_s16, ek_hvx_add_s16),
    .mul_s8 = ek_hvx_mul_s8,
    .lut_s8 = ek_hvx_lut_s8,
    .channel_lut_s8 = EK_SLOT(channel_lut_s8, ek_hvx_channel_lut_s8),
    .sum_s8 = ek_hvx_sum_s8,
    .max_s8 = ek_hvx_max_s8,
};

const ek_target ek_target_hexagon_hvx = { &kernels, supported };

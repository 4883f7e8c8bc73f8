#include <sys/auxv.h>

#include "../dotprod/table.h"
#include "kernels.h"

/* HWCAP2_I8MM and HWCAP_ASIMDDP of the kernel's interface; old headers lack them. */
static bool supported(void)
{
    return (getauxval(AT_HWCAP2) >> 13 & 1) && (getauxval(AT_HWCAP) >> 20 & 1);
}

static const ek_kernels kernels = {
    EK_DOTPROD_KERNELS,
    .name = "aarch64_i8mm",
    .gemm_s8 = ek_i8mm_gemm_s8,
    .packed_gemm_s8 = ek_i8mm_packed_gemm_s8,
    .pack_gemm_s8 = EK_SLOT(pack_gemm_s8, ek_i8mm_pack_gemm_s8),
};

const ek_target ek_target_aarch64_i8mm = { &kernels, supported };

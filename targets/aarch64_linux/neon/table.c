#include "table.h"

/* Every AArch64 CPU has NEON. */
static bool supported(void)
{
    return true;
}

static const ek_kernels kernels = {
    EK_NEON_KERNELS,
    .name = "aarch64_neon",
};

const ek_target ek_target_aarch64_neon = { &kernels, supported };

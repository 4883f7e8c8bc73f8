#include <sys/auxv.h>

#include "table.h"

/* HWCAP_ASIMDDP of the kernel's interface; old headers lack it. */
static bool supported(void)
{
    return getauxval(AT_HWCAP) >> 20 & 1;
}

static const ek_kernels kernels = {
    EK_DOTPROD_KERNELS,
    .name = "aarch64_dotprod",
};

const ek_target ek_target_aarch64_dotprod = { &kernels, supported };

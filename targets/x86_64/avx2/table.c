#include "table.h"

/* __builtin_cpu_supports also asks whether the OS saves the wide registers. */
static bool supported(void)
{
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
}

static const ek_kernels kernels = {
    EK_AVX2_KERNELS,
    .name = "x86_avx2",
};

const ek_target ek_target_x86_avx2 = { &kernels, supported };

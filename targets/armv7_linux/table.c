#include <sys/auxv.h>

#include "../aarch64_linux/neon/table.h"

/* HWCAP_NEON and HWCAP_VFPv4: fused multiply-add. */
static bool supported(void)
{
    return (getauxval(AT_HWCAP) >> 12 & 1) && (getauxval(AT_HWCAP) >> 16 & 1);
}

static const ek_kernels kernels = {
    EK_NEON_KERNELS,
    .name = "armv7_neon",
    .lut_s8 = ek_lut_s8_ref, /* a table of 256 bytes does not fit the registers */
    .channel_lut_s8 = ek_channel_lut_s8_ref,
};

const ek_target ek_target_armv7_neon = { &kernels, supported };

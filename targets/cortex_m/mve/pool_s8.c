#include <arm_mve.h>

#include "kernels.h"

void ek_mve_sum_s8(int32_t *acc, const int8_t *in, size_t step, size_t count, size_t c)
{
    for (size_t j = 0; j < c; j += 4) {
        const mve_pred16_t left = vctp32q((uint32_t)(c - j));
        const int8_t *x = in + j;
        int32x4_t sum = vldrwq_z_s32(acc + j, left);
        for (size_t i = 0; i < count; i++, x += step) sum = vaddq_s32(sum, vldrbq_z_s32(x, left));
        vstrwq_p_s32(acc + j, sum, left);
    }
}

void ek_mve_max_s8(int8_t *out, const int8_t *in, size_t step, size_t count, size_t c)
{
    for (size_t j = 0; j < c; j += 16) {
        const mve_pred16_t left = vctp8q((uint32_t)(c - j));
        const int8_t *x = in + j;
        int8x16_t most = vldrbq_z_s8(out + j, left);
        for (size_t i = 0; i < count; i++, x += step) most = vmaxq_s8(most, vldrbq_z_s8(x, left));
        vstrbq_p_s8(out + j, most, left);
    }
}

#include <string.h>

#include "kernels.h"

/* [n / 4][k][4]: four channels side by side, each weight with 128 added, because only loads of unsigned
 * bytes take a constant offset. Channels beyond n are zero. */
size_t ek_m0_packed_gemm_s8(uint32_t n, uint32_t k)
{
    return ((size_t)(n / 4 + (n % 4 != 0)) * 4 * k + 15) / 16 * 16;
}

void ek_m0_pack_gemm_s8(void *packed, const int8_t *weights, const int32_t *bias, uint32_t n, uint32_t k)
{
    uint8_t *to = packed;
    (void)bias;
    for (uint32_t first = 0; first < n; first += 4, weights += 4 * (size_t)k)
        for (uint32_t i = 0; i < k; i++, to += 4)
            for (uint32_t j = 0; j < 4; j++) to[j] = (uint8_t)(first + j < n ? weights[(size_t)j * k + i] + 128 : 128);
    memset(to, 128, (size_t)((uint8_t *)packed + ek_m0_packed_gemm_s8(n, k) - to));
}

#include "kernels.h"

/* As pack.c says: [n / 4][k][4], 128 added. */
void ek_m0_unpack_gemm_w4(void *packed, const ek_w4 *w, const int32_t *bias, uint32_t n)
{
    const uint8_t *nibbles = w->nibbles, *multiplier = w->multipliers;
    const uint32_t k = w->k, group = w->group ? w->group : k;
    (void)bias;
    for (uint32_t j = 0; j < n; j++) {
        uint8_t *to = (uint8_t *)packed + (size_t)(j / EK_M0_CHANNELS) * EK_M0_CHANNELS * k + j % EK_M0_CHANNELS;
        uint32_t m = 1, left = 0, byte = 0;
        for (uint32_t i = 0; i < k; i++, left--, to += EK_M0_CHANNELS, byte >>= 4) {
            if (!left) {
                left = group;
                if (w->group) m = *multiplier++;
            }
            if (i % 2 == 0) byte = *nibbles++;
            *to = (uint8_t)(((byte & 15) ^ 8) * m + 128 - 8 * m);
        }
    }
}

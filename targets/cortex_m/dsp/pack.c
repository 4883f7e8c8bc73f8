#include <string.h>

#include "kernels.h"

/* Channels go in pairs (b, a). Of each, four weights in turn make two words: the halves of the first
 * belong to k and k + 2, those of the second to k + 1 and k + 3, as SXTB16 spreads four inputs. A half
 * is 256 * a + (b + 128): a sum of products with it, less the sum with its low bytes alone, is 256
 * times the sum for a, so that only b needs unpacking. Behind the last pair lies what a kernel may
 * read, and multiply by zero. */
enum { PAST_THE_END = 32 };

static uint32_t fours(uint32_t k)
{
    return k / 4 + (k % 4 != 0);
}

size_t ek_dsp_packed_gemm_s8(uint32_t n, uint32_t k)
{
    const size_t pairs = (size_t)(n / 2) + n % 2;
    return (pairs * fours(k) * 8 + PAST_THE_END + 15) / 16 * 16;
}

static uint32_t half(const int8_t *b, const int8_t *a, uint32_t i, uint32_t k)
{
    const uint32_t low = (uint32_t)((i < k ? b[i] : 0) + 128);
    return low | (uint32_t)(uint8_t)(a && i < k ? a[i] : 0) << 8;
}

void ek_dsp_pack_gemm_s8(void *packed, const int8_t *weights, const int32_t *bias, uint32_t n, uint32_t k)
{
    uint8_t *to = packed;
    (void)bias;
    memset(packed, 0, ek_dsp_packed_gemm_s8(n, k));
    for (uint32_t j = 0; j < n; j += 2) {
        const int8_t *b = weights + (size_t)j * k, *a = j + 1 < n ? b + k : NULL;
        for (uint32_t i = 0; i < k; i += 4)
            for (uint32_t odd = 0; odd < 2; odd++, to += 4) {
                const uint32_t word = half(b, a, i + odd, k) | half(b, a, i + odd + 2, k) << 16;
                memcpy(to, &word, 4);
            }
    }
}

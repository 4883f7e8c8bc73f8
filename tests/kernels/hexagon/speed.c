/* Products of matrices between the counter's markers (targets/emulation/count.c):
 *     speed TABLE ROWS N K
 * A loop of known length comes first: what the counter must see as 1 + 3 * 1000 packets. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "edgekit/kernels.h"
#include "mark.h"

enum { MOST = 1 << 20 };
static int8_t a[MOST] __attribute__((aligned(16))), w[MOST], packed[2 * MOST] __attribute__((aligned(16))), out[MOST];
static int32_t bias[4096], multiplier[4096];
static int8_t shift[4096];

static void known_loop(void)
{
    MARK_BEGIN();
    __asm__ volatile("{ r1 = #1000 }\n"
                     "1: { r1 = add(r1, #-1) ; r2 = #0 ; r3 = #0 }\n"
                     "{ p0 = cmp.gt(r1, #0) }\n"
                     "{ if (p0) jump:t 1b }\n" ::
                         : "r1", "r2", "r3", "p0");
    MARK_END();
}

int main(int argc, char **argv)
{
    if (argc != 5) return 2;
    const ek_kernels *k = ek_kernels_select(argv[1]);
    const uint32_t rows = (uint32_t)strtoul(argv[2], NULL, 10), n = (uint32_t)strtoul(argv[3], NULL, 10);
    const uint32_t depth = (uint32_t)strtoul(argv[4], NULL, 10);
    if (!k || rows * depth > MOST || n * depth > MOST || rows * n > MOST || n > 4096) return 2;
    for (uint32_t i = 0; i < MOST; i++) {
        a[i] = (int8_t)(i * 37 + i / 251);
        w[i] = (int8_t)(i * 91 + i / 127);
    }
    for (uint32_t j = 0; j < n; j++) {
        bias[j] = (int32_t)j - 77;
        multiplier[j] = 1500000000;
        shift[j] = -9;
    }
    const void *weights = w;
    if (k->packed_gemm_s8) {
        if (k->packed_gemm_s8(n, depth) > sizeof packed) return 2;
        k->pack_gemm_s8(packed, w, bias, n, depth);
        weights = packed;
    }
    const ek_gemm_s8 g = {
        .weights = weights, .requant = { bias, multiplier, shift, 3, -128, 127 }, .n = n, .k = depth
    };
    known_loop();
    MARK_BEGIN();
    k->gemm_s8(out, n, a, depth, rows, &g);
    MARK_END();
    uint32_t sum = 0;
    for (uint32_t i = 0; i < rows * n; i++) sum = sum * 31 + (uint8_t)out[i];
    printf("%lu\n", (unsigned long)sum);
    return 0;
}

/* Products of matrices between the counter's markers (targets/emulation/count.c):
 *     speed TABLE s8|s16 ROWS N K
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
static uint8_t shift16[4096];

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

/* The weights, packed if the table wants them so. */
static const void *weights_for(ek_packed_fn *packed_bytes, ek_pack_gemm_fn *pack, uint32_t n, uint32_t depth)
{
    if (!packed_bytes) return w;
    if (packed_bytes(n, depth) > sizeof packed) exit(2);
    pack(packed, w, bias, n, depth);
    return packed;
}

static void run_s8(const ek_kernels *k, uint32_t rows, uint32_t n, uint32_t depth)
{
    const ek_gemm_s8 g = { .weights = weights_for(k->packed_gemm_s8, k->pack_gemm_s8, n, depth),
                           .requant = { bias, multiplier, shift, 3, -128, 127 },
                           .n = n,
                           .k = depth };
    MARK_BEGIN();
    k->gemm_s8(out, n, a, depth, rows, &g);
    MARK_END();
}

static void run_s16(const ek_kernels *k, uint32_t rows, uint32_t n, uint32_t depth)
{
    const ek_gemm_s16 g = { .weights = weights_for(k->packed_gemm_s16, k->pack_gemm_s16, n, depth),
                            .requant = { bias, multiplier, shift16, -32767, 32767 },
                            .n = n,
                            .k = depth };
    MARK_BEGIN();
    k->gemm_s16((int16_t *)(void *)out, n, (const int16_t *)(const void *)a, depth, rows, &g);
    MARK_END();
}

int main(int argc, char **argv)
{
    if (argc != 6) return 2;
    const ek_kernels *k = ek_kernels_select(argv[1]);
    const bool wide = !strcmp(argv[2], "s16");
    const uint32_t each = wide ? 2 : 1, rows = (uint32_t)strtoul(argv[3], NULL, 10);
    const uint32_t n = (uint32_t)strtoul(argv[4], NULL, 10), depth = (uint32_t)strtoul(argv[5], NULL, 10);
    if (!k || each * rows * depth > MOST || n * depth > MOST || each * rows * n > MOST || n > 4096) return 2;
    for (uint32_t i = 0; i < MOST; i++) {
        a[i] = (int8_t)(i * 37 + i / 251);
        w[i] = (int8_t)(i * 91 + i / 127);
    }
    for (uint32_t j = 0; j < n; j++) {
        bias[j] = (int32_t)j - 77;
        multiplier[j] = wide ? 6000000 : 1500000000;
        shift[j] = -9;
        shift16[j] = 34;
    }
    known_loop();
    (wide ? run_s16 : run_s8)(k, rows, n, depth);
    uint32_t sum = 0;
    for (uint32_t i = 0; i < each * rows * n; i++) sum = sum * 31 + (uint8_t)out[i];
    printf("%lu\n", (unsigned long)sum);
    return 0;
}

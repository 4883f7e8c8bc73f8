/* What the operators with weights of 4 bits share. */
#include "ops/gemm_s8.h"
#include "ops/w4.h"

/* Weights of a block, for kernels that do not say. Those that want it packed get more: they may take many channels
 * together. */
enum { BLOCK = 1024, BLOCK_TO_PACK = 8192 };

bool ek_check_w4(const ek_node *node, uint32_t weights, uint64_t rows, uint64_t count, uint32_t group,
                 uint32_t multipliers, uint64_t n, uint64_t k)
{
    if (k > UINT32_MAX || ek_mul64(rows, count) >= UINT64_C(1) << 30) return false; /* twice as int8 has a size */
    const uint32_t k32 = (uint32_t)k, groups = group ? k32 / group + (k32 % group != 0) : 0; /* no long division */
    const uint64_t total = ek_mul64(n, groups);
    if (!ek_check_blob(node, weights, ek_mul64(rows, count / 2 + count % 2), 1) ||
        !ek_check_blob(node, multipliers, total, 1))
        return false;
    const uint8_t *multiplier = ek_blob(node, multipliers);
    for (uint64_t i = 0; i < total; i++)
        if (multiplier[i] - 1u >= EK_W4_MULTIPLIER) return false;
    return true;
}

void ek_w4_unpack(int8_t *to, const ek_w4 *w, size_t first, size_t n)
{
    const size_t k = w->k, group = w->group ? w->group : k, groups = ek_w4_groups(k, w->group);
    for (size_t j = first; j < first + n; j++) {
        const uint8_t *row = w->nibbles + j * ek_w4_row(k), *multiplier = w->multipliers + j * groups;
        for (size_t i = 0; i < k; i += group) {
            const int32_t m = w->group ? *multiplier++ : 1;
            const size_t end = k - i < group ? k : i + group;
            for (size_t e = i; e < end; e++) *to++ = (int8_t)(ek_w4_at(row, e) * m);
        }
    }
}

uint32_t ek_w4_block(const ek_kernels *kernels, uint32_t k, uint32_t least)
{
    const uint32_t other = kernels->packed_gemm_s8 ? BLOCK_TO_PACK : BLOCK;
    const uint32_t most = kernels->gemm_w4_block ? kernels->gemm_w4_block : other;
    const uint32_t fit = k ? most / k / EK_W4_CHANNELS * EK_W4_CHANNELS : 0;
    return fit > least ? fit : least;
}

/* Bytes of a block unpacked, before it is packed: none where kernels do both at once. */
static uint64_t plain_bytes(const ek_kernels *kernels, uint32_t block, uint64_t k)
{
    return kernels->gemm_w4_block ? 0 : ek_align16(k * block);
}

uint64_t ek_w4_scratch(const ek_kernels *kernels, uint64_t k, uint32_t least)
{
    if (kernels->packed_gemm_s8 && !kernels->pack_gemm_s8 && !kernels->gemm_w4_block) return UINT64_MAX;
    if (k > UINT32_MAX / least) return UINT64_MAX;
    const uint32_t block = ek_w4_block(kernels, (uint32_t)k, least);
    return ek_add64(plain_bytes(kernels, block, k), ek_gemm_packed(kernels, block, (uint32_t)k));
}

void ek_w4_load(ek_gemm *g, const ek_kernels *kernels, const ek_w4 *w, size_t first, uint32_t block, uint8_t *scratch)
{
    uint8_t *packed = scratch + plain_bytes(kernels, block, w->k);
    if (kernels->unpack_gemm_w4) {
        const ek_w4 some = { w->nibbles + first * ek_w4_row(w->k),
                             w->multipliers + first * ek_w4_groups(w->k, w->group), w->group, w->k };
        kernels->unpack_gemm_w4(packed, &some, g->requant.bias, g->n);
        g->weights = packed;
        return;
    }
    ek_w4_unpack((int8_t *)scratch, w, first, g->n);
    g->weights = scratch;
    if (!kernels->packed_gemm_s8) return;
    ek_gemm_pack(kernels, packed, g);
    g->weights = packed;
}

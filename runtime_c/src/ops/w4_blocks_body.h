/* The body of w4_s8.c and w4_s16.c, which include what declares it before it. */

/* Weights of a block, for kernels that do not say. Those that want it packed get more: they may take many channels
 * together. */
enum { BLOCK = 1024, BLOCK_TO_PACK = 8192 };

/* Whether kernels unpack and pack at once; also of a table that only plans for them. */
static bool at_once(const ek_kernels *kernels)
{
    (void)kernels;
#ifdef EK_AT_ONCE
    return EK_AT_ONCE;
#else
    return false;
#endif
}

uint32_t EK_W4(block)(const ek_kernels *kernels, uint32_t k, uint32_t least)
{
    const uint32_t other = ek_gemm_wants_packed(kernels) ? BLOCK_TO_PACK : BLOCK;
    const uint32_t most = kernels->gemm_w4_block ? kernels->gemm_w4_block : other;
    const bool twice = kernels->gemm_w4_block && ek_gemm_wants_packed(kernels) && !at_once(kernels);
    const uint32_t fit = k ? (twice ? most / 2 : most) / k / EK_W4_CHANNELS * EK_W4_CHANNELS : 0;
    return fit > least ? fit : least;
}

/* Bytes of a block unpacked, before it is packed. */
static uint64_t plain_bytes(const ek_kernels *kernels, uint32_t block, uint64_t k)
{
    return at_once(kernels) ? 0 : ek_align16(k * block);
}

uint64_t EK_W4(scratch)(const ek_kernels *kernels, uint64_t k, uint32_t least)
{
    if (ek_gemm_wants_packed(kernels) && !ek_gemm_can_pack(kernels) && !at_once(kernels)) return UINT64_MAX;
    if (k > UINT32_MAX / least) return UINT64_MAX;
    const uint32_t block = EK_W4(block)(kernels, (uint32_t)k, least);
    return ek_add64(plain_bytes(kernels, block, k), ek_gemm_packed(kernels, block, (uint32_t)k));
}

void EK_W4(load)(ek_gemm *g, const ek_kernels *kernels, const ek_w4 *w, size_t first, uint32_t block, uint8_t *scratch)
{
    uint8_t *packed = scratch + plain_bytes(kernels, block, w->k);
#ifdef EK_UNPACK_PACKED
    if (at_once(kernels)) {
        const ek_w4 some = { w->nibbles + first * ek_w4_row(w->k),
                             w->multipliers + first * ek_w4_groups(w->k, w->group), w->group, w->k };
        EK_UNPACK_PACKED(packed, &some, g->requant.bias, g->n);
        g->weights = packed;
        return;
    }
#endif
    ek_w4_unpack((int8_t *)scratch, w, first, g->n);
    g->weights = scratch;
    if (!ek_gemm_wants_packed(kernels)) return;
    ek_gemm_pack(kernels, packed, g);
    g->weights = packed;
}

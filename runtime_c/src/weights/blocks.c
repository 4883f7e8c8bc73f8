/* Built for s8 and s16. */
#include "element.h"

/* clang-format off */
#include EK_TYPED_HEADER(ops/matmul/gemm)
/* clang-format on */
#include "blocks.h"

/* Weights of a block, for kernels that do not say. Those that want it packed get more: they may take many channels
 * together. */
enum { BLOCK = 1024, BLOCK_TO_PACK = 8192 };

#ifndef EK_NO_STREAMS
/* Whether a block is decoded into the room that it is packed into, behind what packing has written by then. Of streams
 * alone: builds without any need the scratch that plans of builds with some have. */
static bool in_place(const ek_kernels *kernels, const ek_codec *codec)
{
    return codec->unpack_blocks && ek_gemm_packs_in_place(kernels) && !ek_gemm_decodes(kernels, codec);
}

/* Bytes that decoded weights need beyond those of the packed ones. */
static uint64_t ahead(uint64_t k)
{
    return ek_align16(3 * k + EK_PACK_AHEAD);
}

static uint64_t room_of(const ek_kernels *kernels, uint32_t n, uint32_t k)
{
    return ek_add64(ek_gemm_packed(kernels, n, k), ahead(k));
}

static uint32_t block_in_place(const ek_kernels *kernels, uint32_t k, uint32_t least, uint32_t room, uint32_t most)
{
    uint32_t n = room / (k ? k : 1);
    n = (n < most ? n : most) / EK_BLOCK_CHANNELS * EK_BLOCK_CHANNELS;
    while (n > least && room_of(kernels, n, k) > room) n -= EK_BLOCK_CHANNELS;
    return n > least ? n : least;
}
#endif

uint32_t EK_TYPED(ek_block)(const ek_kernels *kernels, const ek_codec *codec, uint32_t k, uint32_t least)
{
#ifndef EK_NO_STREAMS
    if (in_place(kernels, codec)) return block_in_place(kernels, k, least, EK_BLOCK_ROOM, UINT32_MAX);
#endif
    const uint32_t other = ek_gemm_wants_packed(kernels) ? BLOCK_TO_PACK : BLOCK;
    const uint32_t most = kernels->gemm_w4_block ? kernels->gemm_w4_block : other;
    const bool twice = kernels->gemm_w4_block && ek_gemm_wants_packed(kernels) && !ek_gemm_decodes(kernels, codec);
    const uint32_t fit = k ? (twice ? most / 2 : most) / k / EK_BLOCK_CHANNELS * EK_BLOCK_CHANNELS : 0;
    return fit > least ? fit : least;
}

/* Bytes of a block decoded, before it is packed. */
static uint64_t plain_bytes(const ek_kernels *kernels, const ek_codec *codec, uint32_t block, uint64_t k)
{
    return ek_gemm_decodes(kernels, codec) ? 0 : ek_align16(k * block);
}

uint64_t EK_TYPED(ek_block_scratch)(const ek_kernels *kernels, const ek_codec *codec, uint64_t k, uint32_t least)
{
    if (!codec) return UINT64_MAX;
    if (ek_gemm_wants_packed(kernels) && !ek_gemm_can_pack(kernels) && !ek_gemm_decodes(kernels, codec))
        return UINT64_MAX;
    if (k > UINT32_MAX / least) return UINT64_MAX;
    const uint32_t block = EK_TYPED(ek_block)(kernels, codec, (uint32_t)k, least);
#ifndef EK_NO_STREAMS
    if (in_place(kernels, codec)) return room_of(kernels, block, (uint32_t)k);
#endif
    return ek_add64(plain_bytes(kernels, codec, block, k), ek_gemm_packed(kernels, block, (uint32_t)k));
}

void EK_TYPED(ek_block_load)(ek_gemm *g, const ek_kernels *kernels, ek_coded *w, size_t first, uint32_t block,
                             uint8_t *scratch)
{
#ifndef EK_NO_STREAMS
    if (in_place(kernels, w->codec)) {
        const uint64_t plain = room_of(kernels, g->n, g->k) - (uint64_t)g->n * g->k;
        g->weights = scratch + plain;
        w->codec->unpack((int8_t *)scratch + plain, w, first, g->n);
        ek_gemm_pack(kernels, scratch, g);
        g->weights = scratch;
        return;
    }
#endif
    uint8_t *packed = scratch + plain_bytes(kernels, w->codec, block, w->k);
    if (ek_gemm_decodes(kernels, w->codec)) {
        ek_gemm_decode(kernels, packed, w, first, g);
        g->weights = packed;
        return;
    }
    w->codec->unpack((int8_t *)scratch, w, first, g->n);
    g->weights = scratch;
    if (!ek_gemm_wants_packed(kernels)) return;
    ek_gemm_pack(kernels, packed, g);
    g->weights = packed;
}

#ifndef EK_NO_STREAMS
uint32_t EK_TYPED(ek_block_in)(const ek_kernels *kernels, const ek_codec *codec, uint32_t k, uint32_t least,
                               uint32_t room, uint32_t most)
{
    if (room <= EK_BLOCK_ROOM || !in_place(kernels, codec)) return EK_TYPED(ek_block)(kernels, codec, k, least);
    return block_in_place(kernels, k, least, room, most);
}

void EK_TYPED(ek_block_load_next)(ek_gemm *g, const ek_node *node, uint32_t weights, const ek_fmt_codec *codec,
                                  uint32_t block, ek_coded_next *next)
{
    ek_coded w = ek_coded_of(node, weights, codec, g->k);
    const uint32_t first = next->channel;
    w.next = *next;
    EK_TYPED(ek_block_load)(g, node->kernels, &w, first, block, (uint8_t *)next + EK_CODED_NEXT);
    *next = w.next;
    next->channel = first + g->n;
}
#endif

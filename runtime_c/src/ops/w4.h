/* Weights of 4 bits: made int8 a block of channels at a time, for the kernels of int8. A gemm_s8.h goes
 * before it. */
#ifndef EK_W4_H
#define EK_W4_H

#include "model.h"

/* Weights that a block has at most, unless four channels have more. */
enum { EK_W4_BLOCK = 8192, EK_W4_CHANNELS = 4 };

typedef struct ek_w4 {
    const uint8_t *nibbles, *multipliers;
    uint32_t group, k; /* group 0: no multipliers */
} ek_w4;

static inline size_t ek_w4_row(size_t count)
{
    return (count + 1) / 2;
}

static inline size_t ek_w4_groups(size_t count, size_t group)
{
    return group ? (count + group - 1) / group : 0;
}

static inline int32_t ek_w4_at(const uint8_t *row, size_t i)
{
    const int32_t nibble = row[i / 2] >> (i % 2 * 4) & 15;
    return (nibble ^ 8) - 8;
}

/* `rows` of `count` nibbles at blob offset `weights`, and multipliers of each of n channels that have k
 * weights. Any of their bytes is harmless. */
static inline bool ek_check_w4(const ek_node *node, uint32_t weights, uint64_t rows, uint64_t count, uint32_t group,
                               uint32_t multipliers, uint64_t n, uint64_t k)
{
    if (k > UINT32_MAX || ek_mul64(rows, count) >= UINT64_C(1) << 30) return false; /* twice as int8 has a size */
    const uint32_t k32 = (uint32_t)k, groups = group ? k32 / group + (k32 % group != 0) : 0; /* no long division */
    return ek_check_blob(node, weights, ek_mul64(rows, count / 2 + count % 2), 1) &&
           ek_check_blob(node, multipliers, ek_mul64(n, groups), 1);
}

/* Channels [first, first + n), k weights each. */
static inline void ek_w4_unpack(int8_t *to, const ek_w4 *w, size_t first, size_t n)
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

/* Files packed for a table hold nibbles nevertheless: there they are unpacked at every run. */
static inline bool ek_w4_packs(const ek_node *node)
{
    return ek_same(node->model->target, "generic");
}

static inline uint32_t ek_w4_block(uint32_t k)
{
    const uint32_t fit = k ? EK_W4_BLOCK / k / EK_W4_CHANNELS * EK_W4_CHANNELS : 0;
    return fit ? fit : EK_W4_CHANNELS;
}

#ifdef EK_GEMM_S8_H
/* The unpacked block, and as the kernels want it. Too much where they cannot pack it. */
static inline uint64_t ek_w4_scratch(const ek_kernels *kernels, uint64_t k)
{
    if (kernels->packed_gemm_s8 && !kernels->pack_gemm_s8) return UINT64_MAX;
    if (k > UINT32_MAX / EK_W4_CHANNELS) return UINT64_MAX;
    const uint32_t block = ek_w4_block((uint32_t)k);
    return ek_add64(ek_align16(k * block), ek_gemm_packed(kernels, block, (uint32_t)k));
}

/* Points g at the weights of its g->n channels, the first of which is channel `first`. */
static inline void ek_w4_load(ek_gemm *g, const ek_kernels *kernels, const ek_w4 *w, size_t first, uint8_t *scratch)
{
    ek_w4_unpack((int8_t *)scratch, w, first, g->n);
    g->weights = scratch;
    if (!kernels->packed_gemm_s8) return;
    uint8_t *packed = scratch + ek_align16((uint64_t)ek_w4_block(w->k) * w->k);
    ek_gemm_pack(kernels, packed, g);
    g->weights = packed;
}
#endif

#endif

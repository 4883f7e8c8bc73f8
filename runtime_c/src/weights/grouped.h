/* What codecs of packed integers with multipliers, 1 to 16, of a channel's groups have to prove. */
#ifndef EK_GROUPED_H
#define EK_GROUPED_H

#include "codec.h"
#include "ops/heavy_checks.h"

enum { EK_MOST_MULTIPLIER = 16 };

/* Rows of `row_bytes` and the multipliers of all groups, if there are any, are in the blob. */
static inline bool ek_check_grouped(const ek_node *node, uint32_t weights, const ek_fmt_codec *codec,
                                    const ek_coded_size *s, uint64_t row_bytes)
{
    if (s->k > UINT32_MAX || ek_mul64(s->rows, s->count) >= UINT64_C(1) << 30) return false; /* twice as int8: a size */
    const uint32_t k = (uint32_t)s->k, group = codec->group;
    const uint32_t groups = group ? k / group + (k % group != 0) : 0; /* no long division */
    if (!ek_check_blob(node, weights, ek_mul64(s->rows, row_bytes), 1)) return false;
    if (!group) return codec->auxiliary == EK_NO_BLOB;
    const uint64_t total = ek_mul64(s->n, groups);
    if (!ek_check_blob(node, codec->auxiliary, total, 1)) return false;
    const uint8_t *multiplier = ek_blob(node, codec->auxiliary);
    for (uint64_t i = 0; i < total; i++)
        if (multiplier[i] - 1u >= EK_MOST_MULTIPLIER) return false;
    return true;
}

#endif

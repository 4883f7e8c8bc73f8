/* What packed depthwise weights are: blocks of SLOTS channels, 8 or 16 as the including file says. The
 * last block of more channels than that overlaps the one before. The file defines `weights_bytes` and
 * `pack_slot`; with 16 slots, 8 channels put two pixels side by side.
 *
 * Packed: a header, then of each block the requantization of its slots and its weights. */
#ifndef EK_NEON_DEPTHWISE_PACK_H
#define EK_NEON_DEPTHWISE_PACK_H

#include "requant.h"

enum { HEADER = 16 };

typedef struct header {
    uint8_t any_left, extreme; /* extreme: a weight is -128 */
} header;

typedef struct slots {
    int32_t bias[SLOTS], m[SLOTS], left[SLOTS], right[SLOTS];
    int8_t weights[];
} slots;

static size_t weights_bytes(uint32_t taps); /* of a block */

/* Puts the weights of one slot, c apart from tap to tap, into a block. */
static void pack_slot(int8_t *to, size_t slot, const int8_t *from, size_t c, uint32_t taps);

static size_t block_count(uint32_t c)
{
    return ((size_t)c + SLOTS - 1) / SLOTS;
}

static size_t block_first(size_t i, uint32_t c)
{
    return c > SLOTS && i + 1 == block_count(c) ? c - SLOTS : i * SLOTS;
}

static size_t packed_bytes(uint32_t taps, uint32_t c)
{
    return HEADER + block_count(c) * (sizeof(slots) + weights_bytes(taps));
}

/* The channel of a slot, or -1. */
static int32_t channel_of(size_t slot, size_t first, uint32_t c)
{
    return SLOTS == 16 && c == 8 ? (int32_t)(slot % 8) : first + slot < c ? (int32_t)(first + slot) : -1;
}

static void pack_requant(slots *to, header *h, const ek_requant *q, size_t first, uint32_t c)
{
    memset(to, 0, sizeof *to);
    for (size_t s = 0; s < SLOTS; s++) {
        const int32_t from = channel_of(s, first, c);
        if (from < 0) continue;
        const int32_t shift = q->shift[from];
        to->bias[s] = q->bias[from];
        to->m[s] = q->multiplier[from];
        to->left[s] = shift > 0 ? shift : 0;
        to->right[s] = shift < 0 ? shift : 0;
        if (shift > 0) h->any_left = 1;
    }
}

static void pack(void *packed, const ek_depthwise_s8 *d)
{
    const int8_t *weights = d->weights;
    const uint32_t c = d->c;
    header h = { 0, 0 };
    for (size_t i = 0; i < (size_t)d->taps * c; i++)
        if (weights[i] == INT8_MIN) h.extreme = 1;
    uint8_t *to = (uint8_t *)packed + HEADER;
    for (size_t i = 0; i < block_count(c); i++, to += sizeof(slots) + weights_bytes(d->taps)) {
        slots *const block = (slots *)(void *)to;
        const size_t first = block_first(i, c);
        pack_requant(block, &h, &d->requant, first, c);
        memset(block->weights, 0, weights_bytes(d->taps));
        for (size_t s = 0; s < SLOTS; s++) {
            const int32_t from = channel_of(s, first, c);
            if (from >= 0) pack_slot(block->weights, s, weights + from, c, d->taps);
        }
    }
    memcpy(packed, &h, sizeof h);
}

#endif

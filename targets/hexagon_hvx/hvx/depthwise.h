/* Packed depthwise weights: blocks of up to 128 slots, from the first whole line on. Slot s of a
 * block is channel s of the block; up to 64 channels repeat for the pixels that follow, as far as
 * whole pixels go.
 */
#ifndef EK_HEXAGON_DEPTHWISE_H
#define EK_HEXAGON_DEPTHWISE_H

#include "requant.h"

enum { EK_SLOTS = 128 };

typedef struct ek_depthwise_block {
    ek_channels32 each[4];
    HVX_Vector weights[][4]; /* [taps / 4][4]: the word of a slot is its weights of four taps */
} ek_depthwise_block;

static inline size_t ek_depthwise_block_bytes(uint32_t taps)
{
    return sizeof(ek_depthwise_block) + ((size_t)taps + 3) / 4 * 4 * EK_LINE;
}

/* Pixels of which a block has all channels. */
static inline uint32_t ek_depthwise_pixels(uint32_t c)
{
    return c <= EK_SLOTS / 2 ? EK_SLOTS / c : 1;
}

#endif

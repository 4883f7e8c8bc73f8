/* Packed depthwise weights: blocks of up to 128 bytes of slots, from the first whole line on. Slot s of a
 * block is channel s of the block; up to 64 bytes of channels repeat for the pixels that follow, as far as
 * whole pixels go.
 */
#ifndef EK_HEXAGON_DEPTHWISE_H
#define EK_HEXAGON_DEPTHWISE_H

#include "requant.h"
#include "requant16.h"

enum { EK_SLOTS = 128, EK_SLOTS16 = 64 };

typedef struct ek_depthwise_block {
    ek_channels32 each[4];
    HVX_Vector weights[][4]; /* [taps / 4][4]: the word of a slot is its weights of four taps */
} ek_depthwise_block;

/* Of int16 slots. */
typedef struct ek_depthwise_block16 {
    ek_ratios32 ratios[2];
    ek_sums32 start[2];      /* the bias */
    HVX_Vector weights[][2]; /* [taps / 2][2]: the word of a slot is its weights of two taps */
} ek_depthwise_block16;

static inline size_t ek_depthwise_block_bytes(uint32_t taps)
{
    return sizeof(ek_depthwise_block) + ((size_t)taps + 3) / 4 * 4 * EK_LINE;
}

static inline size_t ek_depthwise_block16_bytes(uint32_t taps)
{
    return sizeof(ek_depthwise_block16) + ((size_t)taps + 1) / 2 * 2 * EK_LINE;
}

/* Pixels of so many bytes of which a block has all channels. */
static inline size_t ek_depthwise_pixels(size_t pixel)
{
    return pixel <= EK_LINE / 2 ? EK_LINE / pixel : 1;
}

#endif

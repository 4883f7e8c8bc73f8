/* Weights behind a codec, decoded a block of channels at a time for the gemm of EK_ELEMENT, whose gemm_*.h goes
 * before this. Functions of blocks.c, which operators share. */
#ifndef EK_BLOCKS_H
#define EK_BLOCKS_H

#include "codec.h"

/* The least of a block; of a convolution's more, as its windows are gathered anew for each. */
enum { EK_BLOCK_CHANNELS = 4, EK_BLOCK_CONV_CHANNELS = 8 };

/* Channels to a block, of k weights each and at least `least`; a multiple of EK_BLOCK_CHANNELS. And the scratch for
 * it; too much where these kernels cannot pack it. */
uint32_t EK_TYPED(ek_block)(const ek_kernels *kernels, const ek_codec *codec, uint32_t k, uint32_t least);
uint64_t EK_TYPED(ek_block_scratch)(const ek_kernels *kernels, const ek_codec *codec, uint64_t k, uint32_t least);

/* Points g at the weights of its g->n channels, at most `block`, the first of which is channel `first`. */
void EK_TYPED(ek_block_load)(ek_gemm *g, const ek_kernels *kernels, ek_coded *w, size_t first, uint32_t block,
                             uint8_t *scratch);

#ifndef EK_NO_STREAMS
/* As ek_block, where there are `room` bytes of scratch for it, and about `most` channels. */
uint32_t EK_TYPED(ek_block_in)(const ek_kernels *kernels, const ek_codec *codec, uint32_t k, uint32_t least,
                               uint32_t room, uint32_t most);

/* ek_block_load of weights at blob offset `weights`, from channel next->channel on, which advances. Scratch is behind
 * it: operators then hold less on the stack. */
void EK_TYPED(ek_block_load_next)(ek_gemm *g, const ek_node *node, uint32_t weights, const ek_fmt_codec *codec,
                                  uint32_t block, ek_coded_next *next);
#endif

#endif

/* What w4_s8.h and w4_s16.h declare: they include a gemm_*.h before it and define EK_W4; if kernels may unpack and
 * pack at once also EK_AT_ONCE, whether they do, and EK_UNPACK_PACKED, the kernel. */
#include "w4.h"

/* Channels to a block, of k weights each and at least `least`; a multiple of EK_W4_CHANNELS. And the scratch for
 * it; too much where these kernels cannot pack it. */
uint32_t EK_W4(block)(const ek_kernels *kernels, uint32_t k, uint32_t least);
uint64_t EK_W4(scratch)(const ek_kernels *kernels, uint64_t k, uint32_t least);

/* Points g at the weights of its g->n channels, at most `block`, the first of which is channel `first`. */
void EK_W4(load)(ek_gemm *g, const ek_kernels *kernels, const ek_w4 *w, size_t first, uint32_t block, uint8_t *scratch);

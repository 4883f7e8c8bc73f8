/* Weights of 4 bits: made int8 a block of channels at a time, for the kernels of int8 weights. */
#ifndef EK_W4_H
#define EK_W4_H

#include "nibbles.h"
#include "op.h"

/* The least of a block; of a convolution's more, as its windows are gathered anew for each. */
enum { EK_W4_CHANNELS = 4, EK_W4_CONV_CHANNELS = 8 };

/* The largest of a group. */
enum { EK_W4_MULTIPLIER = 16 };

/* `rows` of `count` nibbles at blob offset `weights`, of which any will do; and multipliers, 1 to 16, of each of n
 * channels that have k weights. So every weight is an int8. */
bool ek_check_w4(const ek_node *node, uint32_t weights, uint64_t rows, uint64_t count, uint32_t group,
                 uint32_t multipliers, uint64_t n, uint64_t k);

/* Bytes for weights that a session keeps: `packed` ones, if kernels pack them, else `plain` ones. 0 where weights are
 * unpacked at every run: where memory is short, and of files packed for a table, which hold nibbles nevertheless. */
static inline uint64_t ek_w4_kept(const ek_node *node, uint64_t packed, uint64_t plain)
{
    const bool keeps = (packed || node->kernels->unpacks_w4_at_load) && ek_same(node->model->target, "generic");
    if (!keeps) return 0;
    return packed ? packed : plain;
}

/* The node of an operator with int8 weights, `weights`. */
static inline ek_node ek_w4_plain(const ek_node *node, const void *weights)
{
    ek_node n = *node;
    n.packed = NULL;
    n.unpacked = weights;
    return n;
}

/* Channels [first, first + n), k weights each. */
void ek_w4_unpack(int8_t *to, const ek_w4 *w, size_t first, size_t n);

#endif

/* What operators whose weights may be behind a codec do alike. They are built twice: without EK_CODED for plain
 * weights alone, for firmware that has no other. */
#ifndef EK_CODED_H
#define EK_CODED_H

#include "codec.h"

#ifdef EK_CODED
#define EK_CODED_OP(name) EK_JOIN(EK_TYPED(ek_op_##name), coded)
#else
#define EK_CODED_OP(name) EK_TYPED(ek_op_##name)
#endif

static inline bool ek_is_coded(const ek_fmt_codec *codec)
{
#ifdef EK_CODED
    return codec->id;
#else
    (void)codec;
    return false;
#endif
}

/* The weights of an operator, n channels of k; `size` as the file has them. EK_ERR_UNSUPPORTED for a codec that
 * this build lacks. */
static inline ek_status ek_check_weights(const ek_node *node, uint32_t weights, const ek_fmt_codec *codec,
                                         const ek_coded_size *size, uint32_t element_bytes)
{
    if (!codec->id && !codec->group && !codec->auxiliary) {
        const uint64_t bytes = ek_mul64(ek_mul64(size->rows, size->count), element_bytes);
        return ek_check_blob(node, weights, bytes, element_bytes) ? EK_OK : EK_ERR_CORRUPT;
    }
#ifdef EK_CODED
    const ek_codec *found = ek_codec_of(node, codec->id);
    if (found) return found->check(node, weights, codec, size) ? EK_OK : EK_ERR_CORRUPT;
#endif
    return EK_ERR_UNSUPPORTED;
}

#ifdef EK_CODED
/* Bytes for weights that a session keeps: `packed` ones, if kernels pack them, else `plain` ones. 0 where they are
 * decoded at every run: where memory is short, and of files packed for a table, whose weights stay as they are. */
static inline uint64_t ek_coded_kept(const ek_node *node, uint64_t packed, uint64_t plain)
{
    const bool keeps = (packed || node->kernels->unpacks_w4_at_load) && ek_same(node->model->target, "generic");
    if (!keeps) return 0;
    return packed ? packed : plain;
}

#ifndef EK_NO_STREAMS
/* Bytes of scratch behind the first `used`, if the plan gave the operator more than it needs. */
static inline uint32_t ek_coded_room(const ek_node *node, uint64_t used)
{
    return node->op->scratch_bytes > used ? (uint32_t)(node->op->scratch_bytes - used) : 0;
}
#endif

/* The node of an operator with int8 weights, `weights`. */
static inline ek_node ek_decoded(const ek_node *node, const void *weights)
{
    ek_node n = *node;
    n.packed = NULL;
    n.unpacked = weights;
    return n;
}
#endif

#endif

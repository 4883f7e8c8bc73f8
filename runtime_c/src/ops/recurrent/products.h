/* The products of a recurrent layer: its gates' weights times the hidden state, in one or two parts. */
#ifndef EK_RECURRENT_PRODUCTS_H
#define EK_RECURRENT_PRODUCTS_H

#include "op.h"
#include "weights/coded.h"
#ifdef EK_CODED
#include "nibbles.h"
#endif

static inline uint32_t gates_of(const ek_fmt_recurrent *p)
{
    return p->cell == EK_RECURRENT_CELL_LSTM ? 4 : p->cell == EK_RECURRENT_CELL_GRU ? 3 : 1;
}

/* GRU multiplies the hidden state by its reset gate before the last product. */
static inline bool resets_before(const ek_fmt_recurrent *p)
{
    return p->cell == EK_RECURRENT_CELL_GRU && !(p->flags & EK_RECURRENT_FLAG_RESET_AFTER);
}

/* Elements of the states [batch][hidden]. */
static inline uint64_t states(const ek_fmt_recurrent *p)
{
    return (uint64_t)p->batch * p->hidden;
}

/* Rows of weights in the product of a step; the others follow in a second one. */
static inline uint32_t first_rows(const ek_fmt_recurrent *p)
{
    return resets_before(p) ? 2 * p->hidden : gates_of(p) * p->hidden;
}

static uint64_t packed_first(const ek_node *node)
{
    const ek_fmt_recurrent *p = node->params;
    return ek_align16(ek_gemm_packed(node->kernels, first_rows(p), p->hidden));
}

static uint64_t packed_plain(const ek_node *node)
{
    const ek_fmt_recurrent *p = node->params;
    const uint64_t second = resets_before(p) ? ek_gemm_packed(node->kernels, p->hidden, p->hidden) : 0;
    return ek_add64(packed_first(node), second);
}

#ifdef EK_CODED
/* Bytes of decoded weights. */
static uint64_t decoded_bytes(const ek_fmt_recurrent *p)
{
    return ek_align16((uint64_t)gates_of(p) * p->hidden * p->hidden);
}
#endif

static uint64_t recurrent_packed_bytes(const ek_node *node)
{
#ifdef EK_CODED
    const ek_fmt_recurrent *p = node->params;
    if (ek_is_coded(&p->codec)) return ek_coded_kept(node, packed_plain(node), decoded_bytes(p));
#endif
    return packed_plain(node);
}

static ek_gemm first_product(const ek_node *node)
{
    const ek_fmt_recurrent *p = node->params;
    const uint32_t rows = gates_of(p) * p->hidden;
    (void)rows; /* float weights have no table */
    return (ek_gemm){ .weights = node->packed ? node->packed : ek_blob(node, p->weights),
                      EK_TAIL(node, p, rows, rows),
                      .n = first_rows(p),
                      .k = p->hidden };
}

static ek_gemm second_product(const ek_node *node)
{
    const ek_fmt_recurrent *p = node->params;
    const size_t first = first_rows(p);
    ek_gemm gemm = first_product(node);
    ek_gemm_skip(&gemm, first);
    gemm.n = p->hidden;
    if (node->packed && packed_first(node))
        gemm.weights = (const uint8_t *)node->packed + packed_first(node);
    else
        gemm.weights = (const ek_weight *)gemm.weights + first * p->hidden;
    return gemm;
}

/* The weights, or those of the file if NULL. */
static inline void pack_products(const ek_node *node, void *packed, const ek_weight *weights)
{
    const ek_fmt_recurrent *p = node->params;
    ek_gemm first = first_product(node);
    if (weights) first.weights = weights;
    ek_gemm_pack(node->kernels, packed, &first);
    if (!resets_before(p)) return;
    ek_gemm second = second_product(node);
    if (weights) second.weights = weights + (size_t)first_rows(p) * p->hidden;
    ek_gemm_pack(node->kernels, (uint8_t *)packed + packed_first(node), &second);
}

#ifdef EK_CODED
static ek_coded recurrent_weights_of(const ek_node *node)
{
    const ek_fmt_recurrent *p = node->params;
    return ek_coded_of(node, p->weights, &p->codec, p->hidden);
}

/* To decode them before they are packed. */
static inline uint64_t recurrent_pack_room(const ek_node *node)
{
    const ek_fmt_recurrent *p = node->params;
    return ek_is_coded(&p->codec) && ek_gemm_wants_packed(node->kernels) ? decoded_bytes(p) : 0;
}

static inline void recurrent_pack(const ek_node *node, void *packed)
{
    const ek_fmt_recurrent *p = node->params;
    if (!ek_is_coded(&p->codec)) {
        pack_products(node, packed, NULL);
        return;
    }
    ek_coded w = recurrent_weights_of(node);
    int8_t *decoded = (int8_t *)packed + packed_plain(node);
    w.codec->unpack(decoded, &w, 0, (size_t)gates_of(p) * p->hidden);
    if (ek_gemm_wants_packed(node->kernels)) pack_products(node, packed, decoded);
}
#else
static inline void recurrent_pack(const ek_node *node, void *packed)
{
    pack_products(node, packed, NULL);
}
#endif

#endif

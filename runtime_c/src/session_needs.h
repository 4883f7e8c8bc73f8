/* What the operators of a model want of a session's memory beside the arena. */
#ifndef EDGEKIT_SESSION_NEEDS_H
#define EDGEKIT_SESSION_NEEDS_H

#include "model/model.h"
#include "model/requant_table.h"

/* Firmware that only runs files packed beforehand: its operators' packing stays out of flash. */
#ifdef EK_NO_PACKERS
enum { CAN_PACK = 0 };
#else
enum { CAN_PACK = 1 };
#endif

static uint64_t aligned(uint64_t bytes)
{
    return (bytes + EK_ALIGN - 1) / EK_ALIGN * EK_ALIGN;
}

static uint64_t scratch_of(const ek_op *impl, const ek_node *n)
{
    return impl->scratch ? impl->scratch(n) : 0;
}

static ek_node packing_node(const ek_model *model, const ek_kernels *kernels, uint32_t i, ek_op_record *op)
{
    ek_node n = ek_node_at(model, i, op);
    n.kernels = kernels;
    return n;
}

static uint64_t session_packed_bytes(const ek_op *impl, const ek_node *n)
{
    return impl->packed_bytes ? impl->packed_bytes(n) : 0;
}

/* Used while the operator's weights are packed, and free then: later operators' are packed there. */
static uint64_t session_pack_room(const ek_op *impl, const ek_node *n)
{
#ifdef EK_NO_PACKERS
    (void)impl;
    (void)n;
    return 0;
#else
    return impl->pack_room ? impl->pack_room(n) : 0;
#endif
}

/* Of the table of requantization that a session holds in place of a tight one. */
static uint64_t table_bytes(const ek_op *impl, const ek_node *n)
{
#ifdef EK_NO_PACKERS
    (void)impl;
    (void)n;
    return 0;
#else
    if (!impl->table) return 0;
    const ek_table t = impl->table(n);
    return aligned(ek_widened_bytes(&t));
#endif
}

/* Writes that table, and has the node use it. */
static void session_widen_table(ek_node *n, void *to)
{
#ifdef EK_NO_PACKERS
    (void)n;
    (void)to;
#else
    const ek_table t = n->op->impl->table(n);
    ek_widen_table(to, n, &t);
    n->widened = to;
#endif
}

static bool is_packed(const ek_model *model)
{
    return !ek_same(model->target, "generic");
}

static uint32_t weights_offset(const ek_op *impl, const ek_node *n)
{
    uint32_t offset;
    memcpy(&offset, (const uint8_t *)n->params + impl->weights_at, sizeof offset);
    return offset;
}

/* Weights that lie packed in the file are used there. */
static bool packed_in_file(const ek_op *impl, const ek_node *n, uint64_t bytes)
{
    return !bytes || ek_check_blob(n, weights_offset(impl, n), bytes, EK_ALIGN);
}

/* What the operators want beside the arena. */
typedef struct op_needs {
    uint64_t packed;  /* of what a session packs */
    uint64_t packing; /* of that, while it is packed */
    uint64_t scratch;
} op_needs;

enum { MOST_BITS = 46 }; /* of what one operator wants */

/* Adds what an operator packs to the others'. Sums of 32-bit and size_t counts of at most 65535 operators; a sum that
 * leaves 64 bits would need operators that claim more than 2^48 bytes each, which is refused on the way. */
static ek_status add_packed(op_needs *needs, const ek_node *n, bool in_file, uint64_t bytes)
{
    const ek_op *impl = n->op->impl;
    const uint64_t table = table_bytes(impl, n), room = in_file || !bytes ? 0 : session_pack_room(impl, n);
    if ((bytes | table | room) >> MOST_BITS) return EK_ERR_MEMORY;
    needs->packed += table;
    if (!in_file) needs->packed += aligned(bytes);
    if (room && needs->packed + room > needs->packing) needs->packing = needs->packed + room;
    return EK_OK;
}

static ek_status find_needs(const ek_model *model, const ek_kernels *kernels, op_needs *needs)
{
    const bool in_file = is_packed(model);
    if (in_file && !ek_same(model->target, kernels->name)) return EK_ERR_UNSUPPORTED;
    *needs = (op_needs){ 0, 0, 0 };
    for (uint32_t i = 0; i < model->op_count; i++) {
        ek_op_record op;
        const ek_node n = packing_node(model, kernels, i, &op);
        const uint64_t bytes = session_packed_bytes(op.impl, &n), scratch = scratch_of(op.impl, &n);
        if (scratch > op.scratch_bytes && scratch > needs->scratch) needs->scratch = scratch;
        if (in_file && !packed_in_file(op.impl, &n, bytes)) return EK_ERR_CORRUPT;
        if (!CAN_PACK && !in_file && bytes) return EK_ERR_UNSUPPORTED;
        const ek_status status = CAN_PACK ? add_packed(needs, &n, in_file, bytes) : EK_OK;
        if (status) return status;
    }
    return needs->scratch >> MOST_BITS ? EK_ERR_MEMORY : EK_OK;
}

#endif

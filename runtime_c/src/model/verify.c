/* Prove the tensors and operators of a file, so that running it needs no further check. */
#include "model/model.h"
#include "model/regions.h"

enum { MAX_RANK = 8, INFINITE_BITS = 0x7f800000 };

/* Not negative, not infinite, not NaN; by its bits, since a core may have no float unit. */
static bool scale_is_sane(float scale)
{
    uint32_t bits;
    memcpy(&bits, &scale, sizeof bits);
    return bits < INFINITE_BITS;
}

static uint32_t place_bytes(const ek_model *m, uint8_t place)
{
    switch (place) {
    case EK_PLACE_ARENA: return ek_memory(m)->arena_bytes;
    case EK_PLACE_BLOB: return m->blob_bytes;
    case EK_PLACE_PERSISTENT: return ek_memory(m)->persistent_bytes;
    default: return 0;
    }
}

static bool verify_type(const ek_model *m, const ek_fmt_tensor_type *t)
{
    if (t->place > EK_PLACE_PERSISTENT || t->reserved || t->rank > MAX_RANK) return false;
    if (t->dims > m->dim_count || t->rank > m->dim_count - t->dims) return false;
    uint64_t bytes = ek_dtype_bytes(t->dtype);
    for (uint32_t d = 0; d < t->rank; d++) bytes = ek_mul64(bytes, m->dims[t->dims + d]);
    /* No empty tensors: operators may divide by a count and take the first element. */
    return bytes && bytes == t->bytes;
}

static bool verify_tensor(const ek_model *m, const ek_fmt_tensor *t)
{
    if (t->type >= m->type_count || !scale_is_sane(t->scale)) return false;
    const ek_fmt_tensor_type *type = ek_type_of(m, t);
    const uint32_t limit = place_bytes(m, type->place);
    return t->offset % ek_dtype_bytes(type->dtype) == 0 && t->offset <= limit && type->bytes <= limit - t->offset;
}

/* Firmware for files without initial values (EDGEKIT_STARTS=OFF) does without the rest. */
static bool verify_starts(const ek_model *m)
{
#ifndef EK_NO_STARTS
    for (uint32_t i = 0; i < m->start_count; i++) {
        const ek_fmt_start *s = (const ek_fmt_start *)m->starts + i;
        if (s->tensor >= m->tensor_count || s->initial > m->blob_bytes) return false;
        const ek_fmt_tensor_type *type = ek_type_of(m, (const ek_fmt_tensor *)m->tensors + s->tensor);
        const uint32_t bytes = s->period ? s->period : type->bytes;
        if (type->place != EK_PLACE_PERSISTENT || type->bytes % bytes || bytes > m->blob_bytes - s->initial)
            return false;
    }
#else
    (void)m;
#endif
    return true;
}

ek_status ek_verify_tensors(const ek_model *m)
{
    for (uint32_t i = 0; i < m->type_count; i++)
        if (!verify_type(m, (const ek_fmt_tensor_type *)m->types + i)) return EK_ERR_CORRUPT;
    for (uint32_t i = 0; i < m->tensor_count; i++)
        if (!verify_tensor(m, (const ek_fmt_tensor *)m->tensors + i)) return EK_ERR_CORRUPT;
    return verify_starts(m) ? EK_OK : EK_ERR_CORRUPT;
}

static bool verify_operands(const ek_node *n, const ek_op *impl)
{
    const ek_model *m = n->model;
    const ek_op_record *op = n->op;
    const uint32_t count = (uint32_t)op->inputs + op->outputs;
    if (op->inputs < impl->inputs_min || op->inputs > impl->inputs_max) return false;
    if (op->outputs - 1u >= impl->outputs) return false;
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t id = op->operands[i];
        const bool optional = i >= impl->inputs_min && i < op->inputs;
        if (id >= m->tensor_count && !(optional && id == EK_ABSENT)) return false;
        if (i >= op->inputs && ek_type_of(m, ek_operand(n, i))->place == EK_PLACE_BLOB) return false;
    }
    return true;
}

static bool works_in_place(const ek_op *impl, uint32_t input)
{
    return input < 8 && impl->in_place >> input & 1;
}

/* An output takes over the whole of an input of an operator that works so, or shares nothing with it: others
 * would overwrite what they have yet to read. */
static bool verify_sharing(const ek_node *n, const ek_op *impl)
{
    const uint32_t inputs = n->op->inputs, count = inputs + n->op->outputs;
    for (uint32_t o = inputs; o < count; o++) {
        const ek_fmt_tensor *out = ek_operand(n, o);
        const span written = span_of(n->model, out);
        for (uint32_t i = 0; i < o; i++) {
            const ek_fmt_tensor *t = ek_operand(n, i);
            if (!t || ek_type_of(n->model, t)->place != ek_type_of(n->model, out)->place) continue;
            const span other = span_of(n->model, t);
            if (!overlap(other, written)) continue;
            if (i >= inputs || !works_in_place(impl, i)) return false;
            if (other.begin != written.begin || other.end != written.end) return false;
        }
    }
    return true;
}

/* Scratch is apart from the operands: operators keep pointers there while they write outputs. */
static bool verify_scratch(const ek_node *n)
{
    const ek_op_record *op = n->op;
    const uint32_t arena = ek_memory(n->model)->arena_bytes;
    if (op->scratch_offset > arena || op->scratch_bytes > arena - op->scratch_offset) return false;
    if (!op->scratch_bytes) return true;
    for (uint32_t i = 0; i < (uint32_t)op->inputs + op->outputs; i++)
        if (meets(n->model, ek_operand(n, i), scratch_span(op))) return false;
    return true;
}

/* What lies in the arena when operator `reader` runs is inside a tensor that an operator before it, from `since` on, or
 * (since the first) the caller has written, and nothing of it was overwritten since: else bytes that an earlier run or
 * a kernel's scratch left would show. What an operator reads was proved when it was verified, so the search ends there
 * too. */
static bool was_written(const ek_model *m, const ek_fmt_tensor *t, uint32_t reader, uint32_t since)
{
    if (!in_arena(m, t)) return true;
    const span read = span_of(m, t);
    for (uint32_t i = reader; i-- > since;) {
        ek_op_record op;
        const ek_node n = { .model = m, .op = &op };
        ek_read_memory(m, i, &op);
#ifndef EK_NO_REGIONS
        if (op.kind == EK_OP_REGION) {
            const found passed = pass_region(m, read, &i);
            if (passed != NEITHER) return passed == WRITTEN;
            continue;
        }
#endif
        if (op.scratch_bytes && overlap(read, scratch_span(&op))) return false;
        for (uint32_t k = (uint32_t)op.inputs + op.outputs; k--;) {
            if (lies_in(m, read, ek_operand(&n, k))) return true;
            if (k >= op.inputs && meets(m, ek_operand(&n, k), read)) return false;
        }
    }
    if (since) return false;
    for (uint32_t i = 0; i < m->input_count; i++)
        if (lies_in(m, read, ek_io_tensor(m, m->inputs, i))) return true;
    return false;
}

static bool verify_reads(const ek_node *n, uint32_t reader)
{
    for (uint32_t i = 0; i < n->op->inputs; i++)
        if (!was_written(n->model, ek_operand(n, i), reader, 0)) return false;
    return true;
}

static ek_status verify_op(const ek_model *m, uint32_t i)
{
    ek_op_record op;
    const ek_status status = ek_read_op(m, i, &op);
    if (status) return status;
    const ek_node n = { .model = m, .op = &op, .params = op.params.bytes };
    const ek_op *impl = op.impl;
    if (!verify_operands(&n, impl) || !verify_sharing(&n, impl) || !verify_scratch(&n) || !verify_reads(&n, i))
        return EK_ERR_CORRUPT;
    return impl->check(&n);
}

#ifndef EK_NO_REGIONS
/* In the steps of a Loop behind the first, an operator of it reads what one of the step wrote, what the Loop carries,
 * or what no operator of it writes. None writes the count of steps, so the Loop ends. */
static bool verify_loop(const ek_model *m, uint32_t begin, uint32_t end)
{
    ek_op_record loop, op;
    (void)region_at(m, begin, &loop);
    const ek_node carries = { .model = m, .op = &loop };
    if (touched(m, span_of(m, ek_out_tensor(&carries, 0)), begin + 1, end)) return false;
    for (uint32_t i = begin + 1; i < end; i++) {
        const uint16_t fn = region_at(m, i, &op)->fn;
        const ek_node n = { .model = m, .op = &op };
        const uint32_t reads = op.kind == EK_OP_REGION ? region_reads(&op, fn) : op.inputs;
        for (uint32_t k = 0; k < reads; k++) {
            const ek_fmt_tensor *t = ek_operand(&n, k);
            if (was_written(m, t, i, begin + 1)) continue;
            if (among(&carries, span_of(m, t), 0, loop.inputs + 1u)) continue;
            if (touched(m, span_of(m, t), begin + 1, end)) return false;
        }
    }
    return true;
}

/* Borders come in pairs, one in the other; branches have written what they give. */
static ek_status verify_region(const ek_model *m, uint32_t i, regions *all)
{
    ek_op_record op;
    ek_read_memory(m, i, &op);
    if (op.kind != EK_OP_REGION) return EK_OK;
    const ek_fmt_region *p = region_at(m, i, &op);
    const ek_node n = { .model = m, .op = &op };
    const bool opens = p->fn == EK_REGION_FN_IF || p->fn == EK_REGION_FN_LOOP;
    if (!(opens ? open_region(m, all, i, p) : close_region(m, all, i, p))) return EK_ERR_CORRUPT;
    for (uint32_t k = op.inputs; k < region_reads(&op, p->fn); k++)
        if (!was_written(m, ek_operand(&n, k), i, 0)) return EK_ERR_CORRUPT;
    const bool sound = p->fn != EK_REGION_FN_END_LOOP || verify_loop(m, i - p->back, i);
    return sound ? EK_OK : EK_ERR_CORRUPT;
}
#endif

ek_status ek_verify_ops(ek_model *m)
{
#ifndef EK_NO_REGIONS
    regions all = { .depth = 0 };
#endif
    for (uint32_t i = 0; i < m->op_count; i++) {
        ek_status status = verify_op(m, i);
#ifndef EK_NO_REGIONS
        if (!status) status = verify_region(m, i, &all);
        if (!status && all.depth && i + 1 == m->op_count) status = EK_ERR_CORRUPT;
#endif
        if (status) {
            m->failed_op = i;
            return status;
        }
    }
    for (uint32_t i = 0; i < m->output_count; i++)
        if (!was_written(m, ek_io_tensor(m, m->outputs, i), m->op_count, 0)) return EK_ERR_CORRUPT;
    return EK_OK;
}

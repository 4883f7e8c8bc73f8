/* Prove the tensors and operators of a file, so that running it needs no further check. */
#include "model.h"

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

static bool verify_tensor(const ek_model *m, const ek_fmt_tensor *t)
{
    const uint32_t element = ek_dtype_bytes(t->dtype);
    if (!element || t->place > EK_PLACE_PERSISTENT || t->reserved || t->rank > MAX_RANK) return false;
    if (t->dims > m->dim_count || t->rank > m->dim_count - t->dims || !scale_is_sane(t->scale)) return false;
    uint64_t bytes = element;
    for (uint32_t d = 0; d < t->rank; d++) bytes = ek_mul64(bytes, m->dims[t->dims + d]);
    /* No empty tensors: operators may divide by a count and take the first element. */
    if (!bytes || bytes != t->bytes || t->offset % element) return false;
    const uint32_t limit = place_bytes(m, t->place);
    return t->offset <= limit && t->bytes <= limit - t->offset;
}

ek_status ek_verify_tensors(const ek_model *m)
{
    for (uint32_t i = 0; i < m->tensor_count; i++)
        if (!verify_tensor(m, (const ek_fmt_tensor *)m->tensors + i)) return EK_ERR_CORRUPT;
    return EK_OK;
}

static bool verify_operands(const ek_node *n, const ek_op *impl)
{
    const ek_model *m = n->model;
    const ek_fmt_op *op = n->op;
    const uint32_t count = (uint32_t)op->inputs + op->outputs;
    if (op->inputs < impl->inputs_min || op->inputs > impl->inputs_max || op->outputs != impl->outputs) return false;
    if (op->operands > m->operand_count || count > m->operand_count - op->operands) return false;
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t id = m->operands[op->operands + i];
        const bool optional = i >= impl->inputs_min && i < op->inputs;
        if (id >= m->tensor_count && !(optional && id == EK_ABSENT)) return false;
        if (i >= op->inputs && ((const ek_fmt_tensor *)m->tensors)[id].place == EK_PLACE_BLOB) return false;
    }
    return true;
}

static bool overlap(uint64_t a, uint64_t a_bytes, uint64_t b, uint64_t b_bytes)
{
    return a < b + b_bytes && b < a + a_bytes;
}

/* An output takes over the whole of an input or shares nothing with it: a partial overlap would
 * let an operator overwrite what it has yet to read, and is undefined for memcpy. */
static bool verify_sharing(const ek_node *n)
{
    const uint32_t inputs = n->op->inputs, count = inputs + n->op->outputs;
    for (uint32_t o = inputs; o < count; o++) {
        const ek_fmt_tensor *out = ek_operand(n, o);
        for (uint32_t i = 0; i < o; i++) {
            const ek_fmt_tensor *t = ek_operand(n, i);
            if (!t || t->place != out->place || !overlap(t->offset, t->bytes, out->offset, out->bytes)) continue;
            if (i >= inputs || t->offset != out->offset || t->bytes != out->bytes) return false;
        }
    }
    return true;
}

/* Scratch is apart from the operands: operators keep pointers there while they write outputs. */
static bool verify_scratch(const ek_node *n)
{
    const ek_fmt_op *op = n->op;
    const uint32_t arena = ek_memory(n->model)->arena_bytes;
    if (!op->scratch_bytes) return true;
    if (op->scratch_offset % EK_ALIGN || op->scratch_offset > arena || op->scratch_bytes > arena - op->scratch_offset)
        return false;
    for (uint32_t i = 0; i < (uint32_t)op->inputs + op->outputs; i++) {
        const ek_fmt_tensor *t = ek_operand(n, i);
        if (t && t->place == EK_PLACE_ARENA && overlap(t->offset, t->bytes, op->scratch_offset, op->scratch_bytes))
            return false;
    }
    return true;
}

static ek_status verify_op(const ek_model *m, uint32_t i)
{
    uint32_t params_bytes;
    const ek_fmt_op *op = ek_op_at(m, i);
    const ek_op *impl = ek_op_of(op->kind, &params_bytes);
    if (!impl) return EK_ERR_UNSUPPORTED;
    if (op->params > m->param_words || params_bytes / 4 > m->param_words - op->params) return EK_ERR_CORRUPT;
    const ek_node n = ek_node_at(m, i);
    if (!verify_operands(&n, impl) || !verify_sharing(&n) || !verify_scratch(&n)) return EK_ERR_CORRUPT;
    return impl->check(&n);
}

ek_status ek_verify_ops(ek_model *m)
{
    for (uint32_t i = 0; i < m->op_count; i++) {
        const ek_status status = verify_op(m, i);
        if (status) {
            m->failed_op = i;
            return status;
        }
    }
    return EK_OK;
}

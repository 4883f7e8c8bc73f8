/* An operator of the program -> its record. docs/format.md, "The program", says how it is written. */
#include "model.h"

enum {
    HEADER = 4,
    /* Flags: fields that equal a property of an operand as a rule are there nevertheless, among the
     * operator's own or among those it shares; scratch is there. */
    OWN_LITERAL = 1,
    SHARED_LITERAL = 2,
    SCRATCH = 4,
    ALL_FLAGS = 7
};

typedef struct reader {
    const uint8_t *at, *end;
    bool inside; /* nothing was read past the end, where all is 0 */
} reader;

static uint32_t next(reader *r)
{
    if (r->at < r->end) return *r->at++;
    r->inside = false;
    return 0;
}

/* 7 bits a byte, the lowest first; the highest bit says that more follow. */
static uint32_t varint(reader *r)
{
    uint32_t value = next(r);
    if (value < 0x80) return value;
    value &= 0x7f;
    for (uint32_t shift = 7, more = 0x80; more && shift < 32; shift += 7) {
        const uint32_t byte = next(r);
        value |= (byte & 0x7f) << shift;
        more = byte & 0x80;
    }
    return value;
}

static uint32_t raw(reader *r)
{
    uint32_t value = 0;
    for (uint32_t shift = 0; shift < 32; shift += 8) value |= next(r) << shift;
    return value;
}

/* `what`: operand << 3 | property. 0 of an operand or a dimension that is not there. */
static uint32_t property(const ek_model *m, const ek_op_record *op, uint32_t what)
{
    const uint32_t slot = what >> 3, name = what & 7;
    const uint32_t i = slot == 2 ? op->inputs : slot;
    if (slot < 2 ? slot >= op->inputs : !op->outputs) return 0;
    if (op->operands[i] >= m->tensor_count) return 0;
    const ek_fmt_tensor *t = (const ek_fmt_tensor *)m->tensors + op->operands[i];
    const ek_fmt_tensor_type *type = ek_type_of(m, t);
    const int32_t highest = type->dtype == EK_DTYPE_INT16 ? INT16_MAX : INT8_MAX;
    switch (name) {
    case EK_PROPERTY_ZERO: return (uint32_t)t->zero_point;
    case EK_PROPERTY_LOWEST: return (uint32_t)(highest == INT8_MAX ? INT8_MIN : -highest);
    case EK_PROPERTY_HIGHEST: return (uint32_t)highest;
    default: return name < type->rank ? m->dims[type->dims + name] : 0;
    }
}

/* The fields that `code` names, to `to`, where there is room for 3 bytes more. */
static void read_fields(const ek_model *m, const ek_op_record *op, const uint8_t *code, uint32_t flags, reader *r,
                        uint8_t *to)
{
    const uint8_t *back = r->at;
    uint32_t literal = flags & OWN_LITERAL;
    for (uint32_t c; (c = *code++) != EK_CODE_END;) {
        const uint32_t what = c & 7, bytes = 1u << (c >> 3 & 3);
        if (what == EK_CODE_OPEN) {
            const uint32_t shared = varint(r);
            back = r->at;
            r->at = shared < m->program_bytes ? m->program + shared : r->end;
            literal = flags & SHARED_LITERAL;
            continue;
        }
        if (what == EK_CODE_CLOSE) {
            r->at = back;
            literal = flags & OWN_LITERAL;
            continue;
        }
        const bool equal = what >= EK_CODE_EQUAL;
        for (uint32_t count = (c >> 5) + 1; count; count--, to += bytes) {
            uint32_t value;
            if (equal && !literal) {
                value = property(m, op, *code);
            } else if (what == EK_CODE_RAW) {
                value = raw(r);
            } else {
                value = varint(r);
                /* 0, -1, 1, -2, ... */
                if (what == EK_CODE_SIGNED || what == EK_CODE_EQUAL_SIGNED) value = value >> 1 ^ (0 - (value & 1));
            }
            code += equal;
            /* What is too much of it is where the next field goes. */
            memcpy(to, &value, sizeof value);
        }
    }
}

bool ek_read_op(const ek_model *m, uint32_t i, ek_op_record *op)
{
    static const uint8_t scratch[] = { EK_CODE_UNSIGNED | 2 << 3 | (2 - 1) << 5, EK_CODE_END };
    const uint32_t at = (uint32_t)m->ops[i] * EK_PROGRAM_WORD;
    if (at > m->program_bytes || m->program_bytes - at < HEADER) return false;
    const uint8_t *header = m->program + at;
    const uint32_t operands = (uint32_t)header[1] + header[2], flags = header[3];
    if (m->program_bytes - at - HEADER < operands * sizeof(uint16_t)) return false;
    reader r = { header + HEADER + operands * sizeof(uint16_t), m->program + m->program_bytes, true };
    uint32_t place[2] = { 0 };
    op->operands = (const uint16_t *)(const void *)(header + HEADER);
    op->kind = header[0];
    op->inputs = header[1];
    op->outputs = header[2];
    if (flags & SCRATCH) read_fields(m, op, scratch, flags, &r, (uint8_t *)place);
    op->scratch_bytes = place[0];
    op->scratch_offset = place[1] * EK_ALIGN;
    read_fields(m, op, ek_code_of(op->kind), flags, &r, op->params);
    return r.inside && flags <= ALL_FLAGS;
}

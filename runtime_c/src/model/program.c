/* An operator of the program -> its record. docs/format.md, "The program", says how it is written. */
#include "model/model.h"

enum {
    HEADER = 4,
    /* Flags: fields that equal a property of an operand as a rule are there nevertheless, among the
     * operator's own or among those it shares; scratch is there. */
    OWN_LITERAL = 1,
    SHARED_LITERAL = 2,
    SCRATCH = 4,
    /* The optional struct is there. */
    OPTIONAL = 8,
    ALL_FLAGS = 15
};

/* What fields are equal to properties of: inputs 0 and 1, output 0, nothing; NULL for what is not there. */
enum { INPUT_0, INPUT_1, OUTPUT_0, NOTHING, OPERANDS };
typedef struct operands {
    const ek_fmt_tensor *of[OPERANDS];
} operands;

static inline const ek_fmt_tensor *find_tensor(const ek_model *m, uint32_t id)
{
    return id < m->tensor_count ? (const ek_fmt_tensor *)m->tensors + id : NULL;
}

/* An operator's, which has an output. */
static inline operands find_operands(const ek_model *m, const ek_op_record *op)
{
    const uint16_t *id = op->operands;
    return (operands){ { [INPUT_0] = op->inputs > 0 ? find_tensor(m, id[0]) : NULL,
                         [INPUT_1] = op->inputs > 1 ? find_tensor(m, id[1]) : NULL,
                         [OUTPUT_0] = find_tensor(m, id[op->inputs]),
                         [NOTHING] = NULL } };
}

/* 0 of an operand or a dimension that is not there. Limits of floats are the bits of infinities; of types that have no
 * row here, they are int8's. */
static uint32_t property(const ek_model *m, const ek_fmt_tensor *t, uint32_t name)
{
    static const uint32_t limits[][2] = { [EK_DTYPE_FLOAT32] = { UINT32_C(0xff800000), UINT32_C(0x7f800000) },
                                          [EK_DTYPE_INT8] = { (uint32_t)INT8_MIN, INT8_MAX },
                                          [EK_DTYPE_INT16] = { (uint32_t)-INT16_MAX, INT16_MAX },
                                          [EK_DTYPE_INT32] = { (uint32_t)INT32_MIN, INT32_MAX } };
    if (!t) return 0;
    if (name == EK_PROPERTY_ZERO) return (uint32_t)t->zero_point;
    const ek_fmt_tensor_type *type = ek_type_of(m, t);
    if (name < EK_PROPERTY_ZERO) return name < type->rank ? m->dims[type->dims + name] : 0;
    return limits[type->dtype < sizeof limits / sizeof *limits ? type->dtype : EK_DTYPE_INT8]
                 [name - EK_PROPERTY_LOWEST];
}

/* 7 bits a byte, the lowest first; the highest bit says that more follow. Returns what follows, or NULL. */
static const uint8_t *read_number(const uint8_t *at, const uint8_t *end, uint32_t *value)
{
    if (at == end) return NULL;
    uint32_t byte = *at++, found = byte & 0x7f;
    for (uint32_t shift = 7; byte & 0x80 && shift < 32; shift += 7) {
        if (at == end) return NULL;
        byte = *at++;
        found |= (byte & 0x7f) << shift;
    }
    *value = found;
    return at;
}

/* The fields that `code` names, from `at` to `to`, where there is room for 3 bytes more: what is too much of a
 * number is where the next field goes. Returns what follows them, or NULL if they are not all in the program.
 * It runs for each operator of every run, hence loops of little for each run of like fields. */
static const uint8_t *read_fields(const ek_model *m, const operands *o, const uint8_t *code, uint32_t flags,
                                  const uint8_t *at, uint8_t *to)
{
    const uint8_t *const end = m->program + m->program_bytes, *back = at;
    uint32_t literal = flags & OWN_LITERAL;
    for (uint32_t c; (c = *code++) != EK_CODE_END;) {
        const uint32_t what = c & 7, bytes = 1u << (c >> 3 & 3);
        uint32_t count = (c >> 5) + 1, value = 0;
        if (what == EK_CODE_CLOSE) {
            const bool optional = bytes > 1;
            if (optional && !(flags & OPTIONAL)) { /* the last fields */
                for (; count; count--, to += bytes) memcpy(to, &value, sizeof value);
                return at;
            }
            if (!optional) at = back;
            literal = flags & (optional ? OPTIONAL : OWN_LITERAL);
            if (optional) flags &= ~(uint32_t)OPTIONAL;
        } else if (what == EK_CODE_RAW) {
            for (; count; count--, at += sizeof value, to += bytes) {
                if (end - at < (ptrdiff_t)sizeof value) return NULL;
                memcpy(to, at, sizeof value);
            }
        } else if (what >= EK_CODE_EQUAL && !literal) {
            for (; count; count--, to += bytes) {
                const uint32_t equal = *code++;
                value = property(m, o->of[equal >> 3], equal & 7);
                memcpy(to, &value, sizeof value);
            }
        } else {
            const bool folded = what == EK_CODE_SIGNED || what == EK_CODE_EQUAL_SIGNED;
            if (what >= EK_CODE_EQUAL) code += count;
            for (; count; count--, to += bytes) {
                if (!(at = read_number(at, end, &value))) return NULL;
                /* 0, -1, 1, -2, ... */
                if (folded) value = value >> 1 ^ (0 - (value & 1));
                memcpy(to, &value, sizeof value);
            }
            if (what != EK_CODE_OPEN) continue;
            if (value >= m->program_bytes) return NULL;
            to -= bytes;
            back = at;
            at = m->program + value;
            literal = flags & SHARED_LITERAL;
        }
    }
    return flags & OPTIONAL ? NULL : at;
}

/* All of an operator but its parameters. Returns where those begin, or NULL. */
static const uint8_t *read_head(const ek_model *m, uint32_t i, ek_op_record *op)
{
    static const uint8_t scratch[] = { EK_CODE_UNSIGNED | 2 << 3 | (2 - 1) << 5, EK_CODE_END };
    const uint32_t at = (uint32_t)m->ops[i] * EK_PROGRAM_WORD;
    if (at > m->program_bytes || m->program_bytes - at < HEADER) return NULL;
    const uint8_t *header = m->program + at;
    const uint32_t words = (uint32_t)header[1] + header[2], flags = header[3];
    if (m->program_bytes - at - HEADER < words * sizeof(uint16_t)) return NULL;
    if (!header[2]) return NULL; /* which has an element type */
    const uint8_t *rest = header + HEADER + words * sizeof(uint16_t);
    uint32_t place[2] = { 0 };
    op->operands = (const uint16_t *)(const void *)(header + HEADER);
    op->kind = header[0];
    op->inputs = header[1];
    op->outputs = header[2];
    if (flags & SCRATCH) rest = read_fields(m, NULL, scratch, 0, rest, (uint8_t *)place);
    op->scratch_bytes = place[0];
    op->scratch_offset = place[1] * EK_ALIGN;
    return flags <= ALL_FLAGS ? rest : NULL;
}

ek_status ek_read_op(const ek_model *m, uint32_t i, ek_op_record *op)
{
    const uint8_t *rest = read_head(m, i, op);
    if (!rest) return EK_ERR_CORRUPT;
    const operands o = find_operands(m, op);
    const ek_fmt_tensor *typed = o.of[op->kind < EK_VARIANT ? INPUT_0 : OUTPUT_0];
    op->dtype = typed ? ek_type_of(m, typed)->dtype : EK_DTYPE_ANY;
    const ek_form *form = ek_form_of(m->registry, op->kind, op->dtype);
    if (!form) return op->dtype == EK_DTYPE_ANY ? EK_ERR_CORRUPT : EK_ERR_UNSUPPORTED;
    op->impl = form->op;
    const uint32_t flags = ((const uint8_t *)op->operands)[-1];
    return read_fields(m, &o, (const uint8_t *)form->code, flags, rest, op->params.bytes) ? EK_OK : EK_ERR_CORRUPT;
}

void ek_read_memory(const ek_model *m, uint32_t i, ek_op_record *op)
{
    (void)read_head(m, i, op);
}

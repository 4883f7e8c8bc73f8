/* Sizes of a model whose dimensions vary. Binding copies the file without its weights, writes the numbers that follow
 * from the sizes into the copy, and proves the copy as any file. What runs is then a model like others: those whose
 * dimensions do not vary have none of this. */
#include "model/flat.h"
#include "model/model.h"

enum { MAX_SYMBOLS = 16, MAX_DEPTH = 8, IO_AXES = 8 };

/* What a file says of its dimensions. */
typedef struct varying_file {
    ek_flat_file file;
    ek_flat_vector symbols, expressions, varying;
    uint32_t graph_bytes; /* of what lies before the weights */
} varying_file;

static bool open_symbol(const varying_file *v, uint32_t i, ek_symbol *symbol)
{
    static const struct {
        uint16_t slot, to;
    } fields[] = { { EK_SLOT_SYMBOL_LOWEST, offsetof(ek_symbol, lowest) },
                   { EK_SLOT_SYMBOL_HIGHEST, offsetof(ek_symbol, highest) },
                   { EK_SLOT_SYMBOL_STEP, offsetof(ek_symbol, step) } };
    ek_flat_table t;
    if (!ek_flat_element(&v->file, v->symbols.data, i, &t)) return false;
    if (!ek_flat_open_string(&v->file, &t, EK_SLOT_SYMBOL_NAME, &symbol->name)) return false;
    for (size_t f = 0; f < sizeof fields / sizeof *fields; f++) {
        const uint8_t *at;
        if (!ek_flat_field(&v->file, &t, fields[f].slot, 4, 4, &at) || !at) return false;
        memcpy((uint8_t *)symbol + fields[f].to, at, sizeof(uint32_t));
    }
    return symbol->lowest && symbol->lowest <= symbol->highest && symbol->highest <= INT32_MAX && symbol->step;
}

/* EK_ERR_ARG where no dimension varies. All but the weights lies before them. */
static ek_status open_varying(const ek_model *m, varying_file *v)
{
    ek_flat_table root;
    v->file = (ek_flat_file){ m->data, (uint32_t)m->bytes };
    if (!ek_flat_open_table(&v->file, m->data, &root)) return EK_ERR_CORRUPT;
    if (!ek_flat_open_vector(&v->file, &root, EK_SLOT_MODEL_SYMBOLS, 4, 4, &v->symbols) ||
        !ek_flat_open_vector(&v->file, &root, EK_SLOT_MODEL_EXPRESSIONS, 1, 1, &v->expressions) ||
        !ek_flat_open_vector(&v->file, &root, EK_SLOT_MODEL_VARYING, sizeof(ek_fmt_varying), 4, &v->varying))
        return EK_ERR_CORRUPT;
    if (!v->symbols.count) return EK_ERR_ARG;
    if (v->symbols.count > MAX_SYMBOLS) return EK_ERR_CORRUPT;
    v->graph_bytes = m->blob ? (uint32_t)(m->blob - m->data) : v->file.bytes;
    return EK_OK;
}

uint32_t ek_symbol_count(const ek_model *model)
{
    varying_file v;
    return model && model->data && !open_varying(model, &v) ? v.symbols.count : 0;
}

ek_status ek_model_symbol(const ek_model *model, uint32_t index, ek_symbol *symbol)
{
    varying_file v;
    ek_symbol found;
    if (!symbol || index >= ek_symbol_count(model)) return EK_ERR_ARG;
    if (open_varying(model, &v) || !open_symbol(&v, index, &found)) return EK_ERR_CORRUPT;
    *symbol = found;
    return EK_OK;
}

static uint64_t up(uint64_t bytes)
{
    return (bytes + EK_ALIGN - 1) / EK_ALIGN * EK_ALIGN;
}

ek_status ek_session_bind_size(const ek_model *model, size_t *bytes)
{
    varying_file v;
    if (!model || !model->data || !bytes) return EK_ERR_ARG;
    const ek_status status = open_varying(model, &v);
    if (!status) *bytes = (size_t)(up(sizeof(ek_model)) + up(v.graph_bytes));
    return status;
}

/* A number of the program's form, or NULL. At most 5 bytes, whose value fits 32 bits. */
static const uint8_t *bounded_number(const uint8_t *at, const uint8_t *end, uint32_t *value)
{
    uint64_t found = 0;
    for (uint32_t shift = 0; shift < 35; shift += 7) {
        if (at == end) return NULL;
        const uint32_t byte = *at++;
        found |= (uint64_t)(byte & 0x7f) << shift;
        if (byte & 0x80) continue;
        *value = (uint32_t)found;
        return found <= UINT32_MAX ? at : NULL;
    }
    return NULL;
}

static int64_t divided(int64_t a, int64_t by)
{
    return a >= 0 ? a / by : -((by - 1 - a) / by);
}

/* Both are within 32 bits, so that the result is within 64. Nothing is divided by what is not positive: -1 then. */
static int64_t combined(uint32_t term, int64_t a, int64_t b)
{
    switch (term) {
    case EK_TERM_ADD: return a + b;
    case EK_TERM_SUBTRACT: return a - b;
    case EK_TERM_MULTIPLY: return a * b;
    case EK_TERM_MIN: return a < b ? a : b;
    case EK_TERM_QUOTIENT: return b > 0 ? divided(a, b) : -1;
    default: return a > b ? a : b;
    }
}

/* False for what is no expression, or where a value on the way leaves int32. */
static bool evaluate(const varying_file *v, uint32_t from, const uint32_t *sizes, int64_t *value)
{
    const uint8_t *at = v->expressions.data, *const end = at + v->expressions.count;
    int64_t stack[MAX_DEPTH];
    uint32_t depth = 0, number;
    if (from >= v->expressions.count) return false;
    for (at += from; at != end;) {
        const uint32_t term = *at++;
        if (term == EK_TERM_END) {
            if (depth != 1) return false;
            *value = stack[0];
            return true;
        }
        if (term == EK_TERM_NUMBER || term == EK_TERM_SYMBOL) {
            if (depth == MAX_DEPTH || !(at = bounded_number(at, end, &number))) return false;
            if (term == EK_TERM_SYMBOL && number >= v->symbols.count) return false;
            stack[depth++] = term == EK_TERM_SYMBOL ? sizes[number] : number;
        } else if (term == EK_TERM_DIVIDE) {
            if (!depth || !(at = bounded_number(at, end, &number)) || !number) return false;
            stack[depth - 1] = divided(stack[depth - 1], number);
        } else {
            if (depth < 2 || term > EK_TERM_QUOTIENT) return false;
            depth--;
            stack[depth - 1] = combined(term, stack[depth - 1], stack[depth]);
        }
        if (stack[depth - 1] < INT32_MIN || stack[depth - 1] > INT32_MAX) return false;
    }
    return false;
}

/* Where in the graph a number lies that is 4 bytes long; NULL for what is no dimension. */
static uint8_t *dimension(const ek_model *m, const ek_fmt_varying *which)
{
    ek_io io;
    const uint32_t axis = which->at % IO_AXES;
    const uint32_t *at = NULL;
    switch (which->section) {
    case EK_SECTION_DIMS: at = which->at < m->dim_count ? m->dims + which->at : NULL; break;
    case EK_SECTION_INPUT:
        if (!ek_model_input(m, which->at / IO_AXES, &io) && axis < io.rank) at = io.shape + axis;
        break;
    case EK_SECTION_OUTPUT:
        if (!ek_model_output(m, which->at / IO_AXES, &io) && axis < io.rank) at = io.shape + axis;
        break;
    default: break;
    }
    return (uint8_t *)(uintptr_t)at;
}

/* A number of the program, in as many bytes as it had: false where it needs more. */
static bool write_number(uint8_t *at, const uint8_t *end, uint32_t most, uint32_t value)
{
    uint32_t found;
    const uint8_t *behind = bounded_number(at, end, &found);
    if (!behind || found != most) return false;
    while (behind - at > 1) {
        *at++ = (uint8_t)(0x80 | (value & 0x7f));
        value >>= 7;
    }
    *at = (uint8_t)value;
    return value < 0x80;
}

/* One number: as the file has it at the largest sizes. No dimension is larger at these, or 0. */
static bool write_varying(const varying_file *v, const ek_model *m, uint32_t i, const uint32_t *largest,
                          const uint32_t *sizes)
{
    const ek_fmt_varying *which = (const ek_fmt_varying *)(const void *)v->varying.data + i;
    int64_t most, value;
    if (!evaluate(v, which->expression, largest, &most) || !evaluate(v, which->expression, sizes, &value)) return false;
    if (value < 0) return false;
    if (which->section == EK_SECTION_PROGRAM) {
        if (which->at >= m->program_bytes) return false;
        uint8_t *program = (uint8_t *)(uintptr_t)m->program;
        return write_number(program + which->at, program + m->program_bytes, (uint32_t)most, (uint32_t)value);
    }
    uint8_t *at = dimension(m, which);
    if (!at || !value || value > most || ek_flat_u32(at) != (uint32_t)most) return false;
    const uint32_t written = (uint32_t)value;
    memcpy(at, &written, sizeof written);
    return true;
}

/* Those `bytes` moved from the file into the copy; NULL where they lie behind the weights. */
static const void *moved(const varying_file *v, const uint8_t *copy, const void *from, uint64_t bytes)
{
    const uint64_t at = (uint64_t)((const uint8_t *)from - v->file.data);
    return from && at <= v->graph_bytes && bytes <= v->graph_bytes - at ? copy + at : NULL;
}

/* The model of the copy. What no size changes stays where it is: in a hostile file sections share bytes. */
static bool move_sections(const varying_file *v, const ek_model *from, ek_model *m, const uint8_t *copy)
{
    *m = *from;
    m->data = copy;
    m->bytes = v->graph_bytes;
    m->types = moved(v, copy, from->types, (uint64_t)from->type_count * sizeof(ek_fmt_tensor_type));
    m->dims = moved(v, copy, from->dims, (uint64_t)from->dim_count * sizeof(uint32_t));
    m->program = moved(v, copy, from->program, from->program_bytes);
    m->inputs = moved(v, copy, from->inputs, (uint64_t)from->input_count * sizeof(uint32_t));
    m->outputs = moved(v, copy, from->outputs, (uint64_t)from->output_count * sizeof(uint32_t));
    return m->types && m->dims && m->program && m->inputs && m->outputs;
}

/* Bytes follow from dimensions. Whether they do is proved later: here what is read lies in the copy. */
static bool write_bytes(const ek_model *m)
{
    for (uint32_t i = 0; i < m->type_count; i++) {
        ek_fmt_tensor_type *t = (ek_fmt_tensor_type *)(uintptr_t)m->types + i;
        uint32_t bytes = ek_dtype_bytes(t->dtype);
        if (t->dims > m->dim_count || t->rank > m->dim_count - t->dims) return false;
        for (uint32_t d = 0; d < t->rank; d++) bytes *= m->dims[t->dims + d];
        t->bytes = bytes;
    }
    return true;
}

/* As model.c proves them, of the copy. */
static bool io_fits(const ek_model *m, const ek_io *io, bool written)
{
    const ek_fmt_tensor_type *type = ek_type_of(m, (const ek_fmt_tensor *)m->tensors + io->tensor);
    uint64_t bytes = ek_dtype_bytes(io->dtype);
    if (io->rank > IO_AXES || (written && type->place == EK_PLACE_BLOB)) return false;
    for (uint32_t d = 0; d < io->rank; d++) bytes = ek_mul64(bytes, io->shape[d]);
    return bytes == io->bytes;
}

static bool verify_shapes(const ek_model *m)
{
    ek_io io;
    for (uint32_t i = 0; i < m->input_count; i++)
        if (ek_model_input(m, i, &io) || !io_fits(m, &io, true)) return false;
    for (uint32_t i = 0; i < m->output_count; i++)
        if (ek_model_output(m, i, &io) || !io_fits(m, &io, false)) return false;
    return true;
}

static uint64_t scratch_at(const ek_model *m, const ek_kernels *kernels, uint32_t i, uint64_t *packed,
                           uint32_t *planned)
{
    ek_op_record op;
    ek_node n = ek_node_at(m, i, &op);
    n.kernels = kernels;
    *packed = op.impl->packed_bytes ? op.impl->packed_bytes(&n) : 0;
    *planned = op.scratch_bytes;
    return op.impl->scratch ? op.impl->scratch(&n) : 0;
}

/* What the session has laid out for the largest sizes serves these: scratch, and packed weights, which it keeps. */
static ek_status verify_kernels(const ek_model *whole, const ek_model *m, const ek_kernels *kernels)
{
    for (uint32_t i = 0; i < m->op_count; i++) {
        uint64_t packed_then, packed;
        uint32_t planned;
        const uint64_t there = scratch_at(whole, kernels, i, &packed_then, &planned);
        const uint64_t need = scratch_at(m, kernels, i, &packed, &planned);
        if (packed != packed_then) return EK_ERR_UNSUPPORTED;
        if (need > planned && need > there) return EK_ERR_UNSUPPORTED;
    }
    return EK_OK;
}

/* EK_ERR_ARG for a size that is not the model's. */
static ek_status check_sizes(const varying_file *v, const uint32_t *sizes, uint32_t *largest)
{
    for (uint32_t i = 0; i < v->symbols.count; i++) {
        ek_symbol s;
        if (!open_symbol(v, i, &s)) return EK_ERR_CORRUPT;
        if (sizes[i] < s.lowest || sizes[i] > s.highest || (sizes[i] - s.lowest) % s.step) return EK_ERR_ARG;
        largest[i] = s.highest;
    }
    return EK_OK;
}

static ek_status bind(const varying_file *v, const ek_session *session, const ek_model *model, const uint32_t *sizes,
                      const uint32_t *largest, uint8_t *memory)
{
    ek_model *m = (ek_model *)(void *)memory;
    uint8_t *copy = memory + up(sizeof *m);
    if (!move_sections(v, model, m, copy)) return EK_ERR_CORRUPT;
    memcpy(copy, v->file.data, v->graph_bytes);
    if (!verify_shapes(m)) return EK_ERR_CORRUPT;
    for (uint32_t i = 0; i < v->varying.count; i++)
        if (!write_varying(v, m, i, largest, sizes)) return EK_ERR_CORRUPT;
    if (!write_bytes(m)) return EK_ERR_CORRUPT;
    ek_status status = ek_verify_tensors(m);
    if (!status && !verify_shapes(m)) status = EK_ERR_CORRUPT;
    if (!status) status = ek_verify_ops(m);
    return status ? status : verify_kernels(model, m, ek_session_kernels(session));
}

ek_status ek_session_bind(ek_session *session, const ek_model *model, const uint32_t *sizes, void *memory, size_t bytes)
{
    varying_file v;
    uint32_t largest[MAX_SYMBOLS];
    size_t need;
    if (!session || !model || !model->data || !sizes || !memory) return EK_ERR_ARG;
    if ((uintptr_t)memory % EK_ALIGN) return EK_ERR_ALIGN;
    ek_status status = ek_session_bind_size(model, &need);
    if (!status) status = open_varying(model, &v);
    if (!status) status = check_sizes(&v, sizes, largest);
    if (status) return status;
    if (bytes < need) return EK_ERR_MEMORY;
    status = bind(&v, session, model, sizes, largest, memory);
    ek_session_set_model(session, status ? model : (const ek_model *)memory);
    return status;
}

/* Open a file: find its sections and prove them. docs/format.md lists the rules. */
#include "model/model.h"

#include "model/flat.h"

EK_STATIC_ASSERT(EK_ALIGN % 8 == 0, "Memory holds a 64-bit field and is read in place");

enum {
    IDENTIFIER_AT = 4,
    IDENTIFIER = 0x45474445 /* EDGE */,
    BLOB_ALIGN = 64,
    MAX_TENSORS = 0xffff,
    MAX_OPS = 0xffff,
    MAX_IOS = 4096,
    MAX_RANK = 8
};

static ek_flat_file file_of(const ek_model *m)
{
    return (ek_flat_file){ m->data, (uint32_t)m->bytes };
}

static ek_status open_root(const ek_flat_file *f, ek_flat_table *root)
{
    uint16_t version;
    if (!ek_flat_inside(f, 0, 8) || ek_flat_u32(f->data + IDENTIFIER_AT) != IDENTIFIER) return EK_ERR_CORRUPT;
    if (!ek_flat_open_table(f, f->data, root)) return EK_ERR_CORRUPT;
    if (!ek_flat_ushort(f, root, EK_SLOT_MODEL_VERSION, &version) || !version) return EK_ERR_CORRUPT;
    return version == EK_FORMAT_VERSION ? EK_OK : EK_ERR_VERSION;
}

/* Where ek_model holds each vector and its length. A loop over a list: the code to open one is long. */
static const struct {
    uint16_t data, count;
    uint8_t slot, element, align;
} sections[] = {
#define SECTION(slot, element, align, data, count) \
    { offsetof(ek_model, data), offsetof(ek_model, count), EK_SLOT_MODEL_##slot, element, align }
    SECTION(TENSORS, sizeof(ek_fmt_tensor), 4, tensors, tensor_count),
    SECTION(TYPES, sizeof(ek_fmt_tensor_type), 4, types, type_count),
    SECTION(DIMS, 4, 4, dims, dim_count),
    SECTION(PROGRAM, 1, EK_PROGRAM_WORD, program, program_bytes),
    SECTION(OPS, 2, 2, ops, op_count),
    SECTION(INPUTS, 4, 4, inputs, input_count),
    SECTION(OUTPUTS, 4, 4, outputs, output_count),
    SECTION(NAMES, 1, 1, names, names_bytes),
    SECTION(BLOB, 1, BLOB_ALIGN, blob, blob_bytes),
#ifndef EK_NO_STARTS
    SECTION(STARTS, sizeof(ek_fmt_start), 4, starts, start_count),
#endif
#undef SECTION
};

static bool open_sections(ek_model *m, const ek_flat_file *f, const ek_flat_table *root)
{
    const uint8_t *memory;
    if (!ek_flat_field(f, root, EK_SLOT_MODEL_MEMORY, sizeof(ek_fmt_memory), 8, &memory) || !memory) return false;
    m->memory = memory;
    for (size_t i = 0; i < sizeof sections / sizeof *sections; i++) {
        ek_flat_vector v;
        if (!ek_flat_open_vector(f, root, sections[i].slot, sections[i].element, sections[i].align, &v)) return false;
        memcpy((uint8_t *)m + sections[i].data, &v.data, sizeof v.data);
        memcpy((uint8_t *)m + sections[i].count, &v.count, sizeof v.count);
    }
    if (!ek_flat_open_string(f, root, EK_SLOT_MODEL_TARGET, &m->target)) return false;
    return m->tensor_count <= MAX_TENSORS && m->op_count <= MAX_OPS && m->input_count <= MAX_IOS &&
           m->output_count <= MAX_IOS;
}

/* CRC of the file's bytes [begin, end), those of the checksums themselves taken as 0. */
static uint32_t crc_but(const uint8_t *data, uint32_t crc, uint32_t begin, uint32_t end, uint32_t sums)
{
    static const uint8_t zeros[sizeof(ek_fmt_checksums)];
    if (sums < begin || sums >= end) return ek_crc32(crc, data + begin, end - begin);
    crc = ek_crc32(crc, data + begin, sums - begin);
    crc = ek_crc32(crc, zeros, sizeof zeros);
    return ek_crc32(crc, data + sums + sizeof zeros, end - sums - sizeof zeros);
}

static ek_status compare_checksums(const ek_model *m, const ek_flat_file *f, const ek_flat_table *root)
{
    const uint8_t *at;
    if (!ek_flat_field(f, root, EK_SLOT_MODEL_CHECKSUMS, sizeof(ek_fmt_checksums), 4, &at) || !at)
        return EK_ERR_CORRUPT;
    const uint32_t sums = (uint32_t)(at - f->data), bytes = sizeof(ek_fmt_checksums);
    const uint32_t begin = m->blob ? (uint32_t)(m->blob - f->data) : f->bytes, end = begin + m->blob_bytes;
    if (sums < end && begin < sums + bytes) return EK_ERR_CORRUPT;
    uint32_t graph = crc_but(f->data, 0, 0, begin, sums);
    graph = crc_but(f->data, graph, end, f->bytes, sums);
    if (graph != ek_flat_u32(at)) return EK_ERR_CHECKSUM;
    return ek_crc32(0, f->data + begin, m->blob_bytes) == ek_flat_u32(at + 4) ? EK_OK : EK_ERR_CHECKSUM;
}

static bool load_io(const ek_model *m, const uint8_t *tables, uint32_t i, ek_io *io)
{
    const ek_flat_file f = file_of(m);
    ek_flat_table t;
    ek_flat_vector shape;
    memset(io, 0, sizeof *io);
    if (!ek_flat_element(&f, tables, i, &t)) return false;
    if (!ek_flat_open_string(&f, &t, EK_SLOT_IO_NAME, &io->name)) return false;
    if (!ek_flat_ushort(&f, &t, EK_SLOT_IO_TENSOR, &io->tensor) || io->tensor >= m->tensor_count) return false;
    if (!ek_flat_ushort(&f, &t, EK_SLOT_IO_ONNX_DTYPE, &io->onnx_dtype)) return false;
    if (!ek_flat_open_vector(&f, &t, EK_SLOT_IO_SHAPE, 4, 4, &shape)) return false;
    const ek_fmt_tensor *tensor = (const ek_fmt_tensor *)m->tensors + io->tensor;
    const ek_fmt_tensor_type *type = ek_type_of(m, tensor);
    io->shape = (const uint32_t *)(const void *)shape.data;
    io->rank = shape.count;
    io->bytes = type->bytes;
    io->scale = tensor->scale;
    io->zero_point = tensor->zero_point;
    io->dtype = type->dtype;
    return true;
}

const ek_fmt_tensor *ek_io_tensor(const ek_model *m, const uint8_t *tables, uint32_t i)
{
    const ek_flat_file f = file_of(m);
    ek_flat_table t;
    uint16_t id = 0;
    if (ek_flat_element(&f, tables, i, &t)) (void)ek_flat_ushort(&f, &t, EK_SLOT_IO_TENSOR, &id);
    return (const ek_fmt_tensor *)m->tensors + id;
}

static bool verify_ios(const ek_model *m, const uint8_t *tables, uint32_t count, bool written)
{
    for (uint32_t i = 0; i < count; i++) {
        ek_io io;
        if (!load_io(m, tables, i, &io) || io.rank > MAX_RANK) return false;
        uint64_t bytes = ek_dtype_bytes(io.dtype);
        for (uint32_t d = 0; d < io.rank; d++) bytes = ek_mul64(bytes, io.shape[d]);
        const ek_fmt_tensor_type *type = ek_type_of(m, (const ek_fmt_tensor *)m->tensors + io.tensor);
        if (bytes != io.bytes || (written && type->place == EK_PLACE_BLOB)) return false;
    }
    return true;
}

static ek_status open_checked(ek_model *m, uint32_t flags)
{
    const ek_flat_file f = file_of(m);
    ek_flat_table root;
    ek_status status = open_root(&f, &root);
    if (status) return status;
    if (!open_sections(m, &f, &root)) return EK_ERR_CORRUPT;
    if (flags & EK_OPEN_CHECKSUM && (status = compare_checksums(m, &f, &root))) return status;
    if ((status = ek_verify_tensors(m))) return status;
    if (!verify_ios(m, m->inputs, m->input_count, true)) return EK_ERR_CORRUPT;
    if (!verify_ios(m, m->outputs, m->output_count, false)) return EK_ERR_CORRUPT;
    return ek_verify_ops(m);
}

ek_status ek_open_with(ek_model *model, const ek_registry *registry, const void *data, size_t bytes, uint32_t flags)
{
    if (!model) return EK_ERR_ARG;
    memset(model, 0, sizeof *model);
    model->failed_op = UINT32_MAX;
    if (!data || flags & ~(uint32_t)EK_OPEN_CHECKSUM) return EK_ERR_ARG;
    if ((uintptr_t)data % EK_ALIGN) return EK_ERR_ALIGN;
    if (bytes > INT32_MAX) return EK_ERR_CORRUPT;
    model->registry = registry;
    model->data = (const uint8_t *)data;
    model->bytes = bytes;
    const ek_status status = open_checked(model, flags);
    if (status) model->data = NULL;
    return status;
}

uint32_t ek_input_count(const ek_model *model)
{
    return model && model->data ? model->input_count : 0;
}
uint32_t ek_output_count(const ek_model *model)
{
    return model && model->data ? model->output_count : 0;
}

ek_status ek_model_input(const ek_model *model, uint32_t index, ek_io *io)
{
    if (!io || index >= ek_input_count(model)) return EK_ERR_ARG;
    return load_io(model, model->inputs, index, io) ? EK_OK : EK_ERR_CORRUPT;
}

ek_status ek_model_output(const ek_model *model, uint32_t index, ek_io *io)
{
    if (!io || index >= ek_output_count(model)) return EK_ERR_ARG;
    return load_io(model, model->outputs, index, io) ? EK_OK : EK_ERR_CORRUPT;
}

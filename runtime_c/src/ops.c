/* The operators of this build, and what their checks have in common. */
#include "model.h"

/* ek_ops.inc is written by the build: one EK_KIND(KIND, kind) an operator. */
#define EK_KIND(KIND, kind) extern const ek_op ek_op_##kind;
#include "ek_ops.inc"
#undef EK_KIND

static const struct {
    const ek_op *op;
    uint16_t params_bytes;
} ops[] = {
    [0] = { NULL, 0 }, /* kinds count from 1; a build may have none */
#define EK_KIND(KIND, kind) [EK_OP_##KIND] = { &ek_op_##kind, sizeof(ek_fmt_##kind) },
#include "ek_ops.inc"
#undef EK_KIND
};

const ek_op *ek_op_of(uint32_t kind, uint32_t *params_bytes)
{
    if (kind >= sizeof ops / sizeof *ops) return NULL;
    *params_bytes = ops[kind].params_bytes;
    return ops[kind].op;
}

uint32_t ek_scratch_bytes(const ek_kernels *kernels, uint32_t kind, const void *params)
{
    uint32_t params_bytes;
    const ek_op *op = ek_op_of(kind, &params_bytes);
    if (!op || !kernels || !params) return UINT32_MAX;
    const uint64_t bytes = op->scratch ? op->scratch(params, kernels) : 0;
    return bytes < UINT32_MAX ? (uint32_t)bytes : UINT32_MAX;
}

uint32_t ek_dtype_bytes(uint8_t dtype)
{
    switch (dtype) {
    case EK_DTYPE_FLOAT32:
    case EK_DTYPE_INT32: return 4;
    case EK_DTYPE_INT16: return 2;
    case EK_DTYPE_INT8:
    case EK_DTYPE_UINT8: return 1;
    default: return 0;
    }
}

static bool matches(const ek_fmt_tensor *t, uint8_t dtype, uint64_t elements)
{
    return t && t->dtype == dtype && t->bytes == ek_mul64(elements, ek_dtype_bytes(dtype));
}

bool ek_check_in(const ek_node *n, uint32_t i, uint8_t dtype, uint64_t elements)
{
    return i < n->op->inputs && matches(ek_in_tensor(n, i), dtype, elements);
}

bool ek_check_out(const ek_node *n, uint32_t i, uint8_t dtype, uint64_t elements)
{
    return i < n->op->outputs && matches(ek_out_tensor(n, i), dtype, elements);
}

bool ek_check_blob(const ek_node *n, uint64_t offset, uint64_t bytes, uint32_t align)
{
    const uint64_t blob = n->model->blob_bytes;
    /* A power of two: a 64-bit remainder would call the compiler's library. */
    return offset <= blob && bytes <= blob - offset && (offset & (align - 1)) == 0;
}

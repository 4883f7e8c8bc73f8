/* What the checks of operators have in common. */
#include "model/model.h"

uint64_t ek_mul64(uint64_t a, uint64_t b)
{
    const uint64_t a_high = a >> 32, b_high = b >> 32;
    if (a_high && b_high) return UINT64_MAX;
    const uint64_t cross = a_high ? a_high * (uint32_t)b : (uint32_t)a * b_high;
    const uint64_t low = (uint64_t)(uint32_t)a * (uint32_t)b, sum = (cross << 32) + low;
    return cross >> 32 || sum < low ? UINT64_MAX : sum;
}

const ek_fmt_tensor *ek_operand(const ek_node *n, uint32_t i)
{
    const uint16_t id = n->op->operands[i];
    return id == EK_ABSENT ? NULL : (const ek_fmt_tensor *)n->model->tensors + id;
}

void *ek_tensor_data(const ek_node *n, const ek_fmt_tensor *t)
{
    switch (ek_type_of(n->model, t)->place) {
    case EK_PLACE_BLOB: return (void *)(uintptr_t)(n->model->blob + t->offset);
    case EK_PLACE_PERSISTENT: return n->persistent + t->offset;
    default: return n->arena + t->offset;
    }
}

uint32_t ek_dtype_bytes(uint8_t dtype)
{
    static const uint8_t bytes[] = {
        [EK_DTYPE_FLOAT32] = 4, [EK_DTYPE_INT8] = 1,  [EK_DTYPE_INT16] = 2,
        [EK_DTYPE_INT32] = 4,   [EK_DTYPE_UINT8] = 1, [EK_DTYPE_FLOAT16] = 2,
        [EK_DTYPE_FLOAT64] = 8, [EK_DTYPE_INT64] = 8, [EK_DTYPE_UINT64] = 8,
    };
    return dtype < sizeof bytes ? bytes[dtype] : 0;
}

static bool matches(const ek_node *n, uint32_t operand, uint8_t dtype, uint64_t elements)
{
    const ek_fmt_tensor *t = ek_operand(n, operand);
    if (!t) return false;
    const ek_fmt_tensor_type *type = ek_type_of(n->model, t);
    return type->dtype == dtype && type->bytes == ek_mul64(elements, ek_dtype_bytes(dtype));
}

bool ek_check_in(const ek_node *n, uint32_t i, uint8_t dtype, uint64_t elements)
{
    return i < n->op->inputs && matches(n, i, dtype, elements);
}

bool ek_check_out(const ek_node *n, uint32_t i, uint8_t dtype, uint64_t elements)
{
    return i < n->op->outputs && matches(n, n->op->inputs + i, dtype, elements);
}

bool ek_check_blob(const ek_node *n, uint64_t offset, uint64_t bytes, uint32_t align)
{
    const uint64_t blob = n->model->blob_bytes;
    /* A power of two: a 64-bit remainder would call the compiler's library. */
    return offset <= blob && bytes <= blob - offset && (offset & (align - 1)) == 0;
}

const ek_codec *ek_codec_of(const ek_node *n, uint32_t id)
{
    const ek_codec *const *codec = n->model->registry->codecs;
    while (*codec && (*codec)->id != id) codec++;
    return *codec;
}

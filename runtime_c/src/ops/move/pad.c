/* Pad: a border of one value, mirrored, or the edge repeated. */
#include "op.h"

static ek_status pad_check(const ek_node *n)
{
    const ek_fmt_pad *p = n->params;
    const ek_fmt_tensor_type *in = ek_in_type(n, 0), *out = ek_out_type(n, 0);
    if (!ek_check_same_dtype(n, 0)) return EK_ERR_CORRUPT;
    if (p->mode > EK_PAD_MODE_EDGE || !p->element_bytes || p->element_bytes != ek_dtype_bytes(in->dtype))
        return EK_ERR_CORRUPT;
    uint64_t in_bytes = p->element_bytes, out_bytes = p->element_bytes;
    for (int d = 0; d < 4; d++) {
        const uint64_t size = p->in_dims[d], before = p->before[d], total = p->out_dims[d];
        if (!size || size > INT32_MAX || total > INT32_MAX || before + size > total) return EK_ERR_CORRUPT;
        const uint64_t after = total - before - size;
        if (p->mode == EK_PAD_MODE_REFLECT && (before >= size || after >= size)) return EK_ERR_CORRUPT;
        in_bytes = ek_mul64(in_bytes, size);
        out_bytes = ek_mul64(out_bytes, total);
    }
    return in_bytes == in->bytes && out_bytes == out->bytes ? EK_OK : EK_ERR_CORRUPT;
}

/* Input index that output index `o` of dimension d shows; -1 in a constant border. */
static int32_t source(const ek_fmt_pad *p, int d, uint32_t o)
{
    const int32_t size = (int32_t)p->in_dims[d], i = (int32_t)o - (int32_t)p->before[d];
    if (i >= 0 && i < size) return i;
    if (p->mode == EK_PAD_MODE_CONSTANT) return -1;
    if (p->mode == EK_PAD_MODE_EDGE) return i < 0 ? 0 : size - 1;
    return i < 0 ? -i : 2 * (size - 1) - i;
}

static void pad_fill(uint8_t *out, const ek_fmt_pad *p, size_t count)
{
    if (p->element_bytes == 1) {
        memset(out, (int)(p->value & 0xff), count);
        return;
    }
    const uint16_t half = (uint16_t)p->value;
    for (size_t i = 0; i < count; i++) {
        if (p->element_bytes == 2)
            memcpy(out + i * 2, &half, 2);
        else
            memcpy(out + i * 4, &p->value, 4);
    }
}

static void pad_row(uint8_t *out, const uint8_t *in, const ek_fmt_pad *p)
{
    const size_t bytes = p->element_bytes, size = p->in_dims[3], before = p->before[3], total = p->out_dims[3];
    memcpy(out + before * bytes, in, size * bytes);
    if (p->mode == EK_PAD_MODE_CONSTANT) {
        pad_fill(out, p, before);
        pad_fill(out + (before + size) * bytes, p, total - before - size);
        return;
    }
    for (size_t o = 0; o < total; o++) {
        if (o == before) o += size;
        if (o == total) break;
        memcpy(out + o * bytes, in + (size_t)source(p, 3, (uint32_t)o) * bytes, bytes);
    }
}

static ek_status pad_run(const ek_node *n)
{
    const ek_fmt_pad *p = n->params;
    const uint8_t *in = ek_in(n, 0);
    uint8_t *out = ek_out(n, 0);
    const size_t in_row = (size_t)p->in_dims[3] * p->element_bytes, out_row = (size_t)p->out_dims[3] * p->element_bytes;
    for (uint32_t o0 = 0; o0 < p->out_dims[0]; o0++) {
        const int32_t i0 = source(p, 0, o0);
        for (uint32_t o1 = 0; o1 < p->out_dims[1]; o1++) {
            const int32_t i1 = source(p, 1, o1);
            for (uint32_t o2 = 0; o2 < p->out_dims[2]; o2++, out += out_row) {
                const int32_t i2 = source(p, 2, o2);
                if (i0 < 0 || i1 < 0 || i2 < 0) {
                    pad_fill(out, p, p->out_dims[3]);
                    continue;
                }
                const size_t row = ((size_t)i0 * p->in_dims[1] + (size_t)i1) * p->in_dims[2] + (size_t)i2;
                pad_row(out, in + row * in_row, p);
            }
        }
    }
    return EK_OK;
}

const ek_op ek_op_pad = { .inputs_min = 1, .inputs_max = 1, .outputs = 1, .check = pad_check, .run = pad_run };

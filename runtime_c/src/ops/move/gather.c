/* Gather: slices along an axis, chosen by indices that may be computed, so are checked as they run. */
#include "op.h"

static ek_status gather_check(const ek_node *n)
{
    const ek_fmt_gather *p = n->params;
    const ek_fmt_tensor_type *in = ek_in_type(n, 0), *out = ek_out_type(n, 0);
    const uint64_t step = ek_mul64(p->outer, p->inner_bytes);
    const bool fits = ek_check_same_dtype(n, 0) && step && p->axis && ek_mul64(step, p->axis) == in->bytes &&
                      ek_mul64(step, p->count) == out->bytes && ek_check_in(n, 1, EK_DTYPE_INT32, p->count);
    return fits ? EK_OK : EK_ERR_CORRUPT;
}

static ek_status gather_run(const ek_node *n)
{
    const ek_fmt_gather *p = n->params;
    const uint8_t *in = ek_in(n, 0);
    const int32_t *indices = ek_in(n, 1);
    uint8_t *out = ek_out(n, 0);
    for (size_t o = 0; o < p->outer; o++) {
        for (size_t k = 0; k < p->count; k++, out += p->inner_bytes) {
            int64_t i = indices[k];
            i += i < 0 ? (int64_t)p->axis : 0;
            if (i < 0 || i >= (int64_t)p->axis) return EK_ERR_INDEX;
            memcpy(out, in + (o * p->axis + (size_t)i) * p->inner_bytes, p->inner_bytes);
        }
    }
    return EK_OK;
}

const ek_op ek_op_gather = { .inputs_min = 2, .inputs_max = 2, .outputs = 1, .check = gather_check, .run = gather_run };

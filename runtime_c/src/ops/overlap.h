/* Operators that copy with memcpy refuse files in which the output lies over an input. */
#ifndef EK_OPS_OVERLAP_H
#define EK_OPS_OVERLAP_H

#include "../op.h"

/* Input i is there, of the output's element type, and shares no byte with the output. */
static inline bool ek_check_apart(const ek_node *n, uint32_t i)
{
    const ek_fmt_tensor *in = ek_in_tensor(n, i), *out = ek_out_tensor(n, 0);
    if (!in) return false;
    const ek_fmt_tensor_type *a = ek_type_of(n->model, in), *b = ek_type_of(n->model, out);
    return a->dtype == b->dtype && (a->place != b->place || (uint64_t)in->offset + a->bytes <= out->offset ||
                                    (uint64_t)out->offset + b->bytes <= in->offset);
}

#endif

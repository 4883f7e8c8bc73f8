/* Tensors seen as [outer][axis][inner]. */
#ifndef EK_AXIS_H
#define EK_AXIS_H

#include "op.h"

static inline bool ek_check_view(const ek_node *n, const ek_fmt_axis_view *v, uint8_t dtype)
{
    return v->outer && v->axis && v->inner && ek_check_in(n, 0, dtype, ek_mul64(ek_mul64(v->outer, v->axis), v->inner));
}

#endif

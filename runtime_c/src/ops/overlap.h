/* Operators that copy with memcpy refuse files in which the output lies over an input. */
#ifndef EK_OPS_OVERLAP_H
#define EK_OPS_OVERLAP_H

#include "../op.h"

static inline bool ek_check_apart(const ek_fmt_tensor *a, const ek_fmt_tensor *b)
{
    return a->place != b->place || (uint64_t)a->offset + a->bytes <= b->offset ||
           (uint64_t)b->offset + b->bytes <= a->offset;
}

#endif

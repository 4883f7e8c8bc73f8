/* Which bytes of its place a tensor or scratch has. A part of verify.c. */
#ifndef EK_SPANS_H
#define EK_SPANS_H

#include "model/model.h"

/* Bytes [begin, end) of a place that are proved to lie in it: no sum of these leaves 32 bits. */
typedef struct span {
    uint32_t begin, end;
} span;

static span span_of(const ek_model *m, const ek_fmt_tensor *t)
{
    return (span){ t->offset, t->offset + ek_type_of(m, t)->bytes };
}

static span scratch_span(const ek_op_record *op)
{
    return (span){ op->scratch_offset, op->scratch_offset + op->scratch_bytes };
}

/* Of two that are not empty. */
static bool overlap(span a, span b)
{
    return a.begin < b.end && b.begin < a.end;
}

static bool in_arena(const ek_model *m, const ek_fmt_tensor *t)
{
    return t && ek_type_of(m, t)->place == EK_PLACE_ARENA;
}

static bool meets(const ek_model *m, const ek_fmt_tensor *t, span of_arena)
{
    return in_arena(m, t) && overlap(span_of(m, t), of_arena);
}

static bool lies_in(const ek_model *m, span a, const ek_fmt_tensor *t)
{
    if (!in_arena(m, t)) return false;
    const span b = span_of(m, t);
    return a.begin >= b.begin && a.end <= b.end;
}

#endif

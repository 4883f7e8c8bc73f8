/* The proof of regions: docs/format.md, "Regions". A part of verify.c. */
#ifndef EK_REGIONS_H
#define EK_REGIONS_H

#include "model/spans.h"

#ifndef EK_NO_REGIONS

/* What a search for who has written some bytes of the arena has found: an operator that has, or has read them; one that
 * has overwritten some; neither. */
typedef enum found { WRITTEN, OVERWRITTEN, NEITHER } found;

enum { DEEPEST = 4 };

/* A region that has begun: its If or Loop, its Else, and which border comes next, where. */
typedef struct region {
    uint32_t begin, middle, next;
    uint16_t expected;
} region;

typedef struct regions {
    region open[DEEPEST];
    uint32_t depth;
} regions;

static const ek_fmt_region *region_at(const ek_model *m, uint32_t i, ek_op_record *op)
{
    (void)ek_read_op(m, i, op);
    return (const ek_fmt_region *)(const void *)op->params.bytes;
}

/* Of a verified end, its If or Loop. */
static uint32_t region_begin(const ek_model *m, uint32_t i, const ek_fmt_region *end)
{
    ek_op_record op;
    const uint32_t at = i - end->back;
    return end->fn == EK_REGION_FN_END_LOOP ? at : at - region_at(m, at, &op)->back;
}

/* Some operator from `from` to `end`, without it, may write there. */
static bool touched(const ek_model *m, span where, uint32_t from, uint32_t end)
{
    for (uint32_t i = from; i < end; i++) {
        ek_op_record op;
        const ek_node n = { .model = m, .op = &op };
        ek_read_memory(m, i, &op);
        if (op.scratch_bytes && overlap(where, scratch_span(&op))) return true;
        for (uint32_t k = op.inputs; k < (uint32_t)op.inputs + op.outputs; k++)
            if (meets(m, ek_operand(&n, k), where)) return true;
    }
    return false;
}

static bool among(const ek_node *n, span where, uint32_t first, uint32_t end)
{
    for (uint32_t k = first; k < end; k++)
        if (lies_in(n->model, where, ek_operand(n, k))) return true;
    return false;
}

/* Have a search that goes back pass the Region *i, and whatever does not run before what is behind it. What an If and a
 * Loop read, and what branches and loops carry to their end, was proved there. */
static found pass_region(const ek_model *m, span where, uint32_t *i)
{
    ek_op_record op;
    const ek_fmt_region *p = region_at(m, *i, &op);
    const ek_node n = { .model = m, .op = &op };
    const uint32_t operands = (uint32_t)op.inputs + op.outputs;
    if (p->fn == EK_REGION_FN_IF) return among(&n, where, 0, op.inputs) ? WRITTEN : NEITHER;
    if (p->fn == EK_REGION_FN_ELSE) { /* in the second branch: the first has not run */
        *i -= p->back - 1;
        return NEITHER;
    }
    if (among(&n, where, 0, operands)) return WRITTEN;
    if (p->fn == EK_REGION_FN_LOOP) return touched(m, where, *i, *i + 1) ? OVERWRITTEN : NEITHER;
    const uint32_t begin = region_begin(m, *i, p);
    if (touched(m, where, begin + 1, *i)) return OVERWRITTEN;
    *i = begin + 1;
    return NEITHER;
}

static bool same_operands(const ek_model *m, uint32_t a, uint32_t b, bool inputs)
{
    ek_op_record x, y;
    ek_read_memory(m, a, &x);
    ek_read_memory(m, b, &y);
    if (x.outputs != y.outputs || (inputs && x.inputs != y.inputs)) return false;
    const uint32_t first = inputs ? 0 : x.inputs, end = (uint32_t)x.inputs + x.outputs;
    for (uint32_t k = first; k < end; k++)
        if (x.operands[k] != y.operands[k - x.inputs + y.inputs]) return false;
    return true;
}

/* Region i closes the branch or the loop that it should, and gives what the others of it give. */
static bool close_region(const ek_model *m, regions *all, uint32_t i, const ek_fmt_region *p)
{
    if (!all->depth) return false;
    region *r = &all->open[all->depth - 1];
    if (r->next != i || r->expected != p->fn || p->back != i - (p->fn == EK_REGION_FN_END_IF ? r->middle : r->begin))
        return false;
    if (!same_operands(m, r->begin, i, p->fn == EK_REGION_FN_END_LOOP)) return false;
    if (p->fn != EK_REGION_FN_ELSE) {
        all->depth--;
        return true;
    }
    *r = (region){ r->begin, i, i + p->length, EK_REGION_FN_END_IF };
    return p->length && p->length < m->op_count - i;
}

static bool open_region(const ek_model *m, regions *all, uint32_t i, const ek_fmt_region *p)
{
    if (all->depth == DEEPEST || !p->length || p->length >= m->op_count - i) return false;
    const uint16_t expected = p->fn == EK_REGION_FN_IF ? EK_REGION_FN_ELSE : EK_REGION_FN_END_LOOP;
    all->open[all->depth++] = (region){ i, i, i + p->length, expected };
    return true;
}

/* How many of its operands an operator needs written: inputs, and what a branch gives. */
static uint32_t region_reads(const ek_op_record *op, uint16_t fn)
{
    return (uint32_t)op->inputs + (fn == EK_REGION_FN_ELSE || fn == EK_REGION_FN_END_IF ? op->outputs : 0u);
}

#endif

#endif

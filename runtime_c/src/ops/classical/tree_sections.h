/* How a forest lies in the blob, and what a node's words say. */
#ifndef EK_TREE_SECTIONS_H
#define EK_TREE_SECTIONS_H

#include "op.h"

enum {
    FAR_IS_LEAF = 1,
    BOTH_ARE_LEAVES = 2,
    FLAGS = 2, /* bits */
    FEATURE_BITS = 16,
    COUNT_BITS = 13,
    COLUMN_MEMBERS = 29,
    COLUMN_NAN_LOW = 30,
    COLUMN_MIRROR = 31,
    NARROW_CUTS = 255, /* of a column whose ranks are bytes */
    NAN_KEY = 0x7f800000
};

/* Where each section begins, in bytes from the blob's start. */
typedef struct sections {
    uint64_t cuts, base, trees, targets, values, entry_targets, firsts, leaf_rows, nodes, end;
} sections;

static bool is_wide(const ek_fmt_tree_ensemble *p)
{
    return p->node_bytes == 8;
}

static uint64_t behind(uint64_t at, uint32_t count, uint32_t bytes)
{
    return (at + (uint64_t)count * bytes + 3) & ~(uint64_t)3;
}

/* Of counts of 32 bits and elements of at most 8 bytes: no sum leaves 64 bits. */
static sections tree_ensemble_f32_lay_out(const ek_fmt_tree_ensemble *p)
{
    const bool rows = p->leaf_rows > 0;
    sections s;
    s.cuts = behind(p->table, p->columns, 4);
    s.base = behind(s.cuts, p->cuts, 4);
    s.trees = behind(s.base, p->targets, 4);
    s.targets = behind(s.trees, p->trees, is_wide(p) ? 8 : 4);
    s.values = behind(s.targets, p->tree_targets ? p->trees : 0, 2);
    s.entry_targets = behind(s.values, rows ? p->entries : p->leaves, p->leaf_bytes);
    s.firsts = behind(s.entry_targets, rows ? p->entries : 0, 2);
    s.leaf_rows = behind(s.firsts, rows ? p->leaf_rows : 0, 4) + (rows ? 4 : 0);
    s.nodes = behind(s.leaf_rows, rows ? p->leaves : 0, 2);
    s.end = s.nodes + (uint64_t)p->nodes * p->node_bytes;
    return s;
}

static const uint8_t *at(const ek_node *n, uint64_t offset)
{
    return n->model->blob + (size_t)offset;
}

static uint32_t u16_at(const uint8_t *table, uint32_t i)
{
    return ((const uint16_t *)(const void *)table)[i];
}

static uint32_t u32_at(const uint8_t *table, uint32_t i)
{
    return ((const uint32_t *)(const void *)table)[i];
}

/* A node's first word, of three bytes where a node has no more. */
static inline uint32_t word_of(const uint8_t *node, uint32_t bytes)
{
    if (bytes == 3) return node[0] | (uint32_t)node[1] << 8 | (uint32_t)node[2] << 16;
    return *(const uint32_t *)(const void *)node;
}

/* The number of nodes and of leaves of tree t. */
static void sizes_of(const ek_fmt_tree_ensemble *p, const uint8_t *trees, uint32_t t, uint32_t *nodes, uint32_t *leaves)
{
    *nodes = is_wide(p) ? u32_at(trees, 2 * t) : u16_at(trees, 2 * t);
    *leaves = is_wide(p) ? u32_at(trees, 2 * t + 1) : u16_at(trees, 2 * t + 1);
}

/* Whether the column is another feature's, with the cuts of the last column that has its own. */
static bool shares_cuts(uint32_t column)
{
    return column >> COLUMN_MIRROR && (column >> COLUMN_MEMBERS & 1);
}

typedef struct fields {
    uint32_t flags, column, link;
} fields;

static fields fields_of(const ek_fmt_tree_ensemble *p, const uint8_t *node)
{
    const uint32_t bits = FLAGS + (uint32_t)p->rank_bits + p->column_bits, w = word_of(node, p->node_bytes);
    if (is_wide(p)) return (fields){ w & 3, word_of(node + 4, 4) & 0xffff, w >> FLAGS };
    return (fields){ w & 3, w >> (FLAGS + p->rank_bits) & ((1u << p->column_bits) - 1), w >> bits };
}

#endif

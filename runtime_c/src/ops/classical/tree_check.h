/* What proves that a forest can be walked: every column, node, link and leaf is there. */
#ifndef EK_TREE_CHECK_H
#define EK_TREE_CHECK_H

#include "ops/forest_f32.h"

/* Steps down a tree for each of its bytes, for files that are made to be slow. */
enum { STEPS = 128 };

/* In place of a distance, of a node with two leaves. */
enum { AN_END = -1 };

/* The bytes of the node at the first of `room`, with what follows it; 0 if it is longer, or if its column or a leaf
 * does not exist. Where it has two subtrees, the high one begins `distance` bytes behind all that; else that is 0. */
static uint32_t check_item(const ek_forest *f, const uint8_t *at, uint32_t room, int32_t *distance)
{
    const ek_forest_head *h = f->head;
    uint32_t size = h->node_bytes, own = 0;
    *distance = 0;
    if (room <= size) return 0;
    const uint32_t word = bytes_at(at, size), link = word >> h->column_bits & f->link_mask;
    uint32_t ends = link == TWO_LEAVES ? 2 : link == FAR_APART ? 0 : 1;
    if ((word & f->column_mask) >= h->columns) return 0;
    if (link > LOW_LEAF) {
        *distance = f->distances[link];
        return *distance || (h->id_bytes && link - LOW_LEAF - 1 < f->leaves) ? size : 0;
    }
    if (link == TWO_LEAVES) {
        *distance = AN_END;
        if (h->id_bytes == 1) {
            own = at[size++];
            if (own != OWN_BYTES) return (own & 15) < f->leaves && own >> 4 < f->leaves ? size : 0;
        }
    }
    at += size;
    size += link == FAR_APART ? f->size_size : ends * f->leaf_size;
    if (size > room) return 0;
    if (link == FAR_APART) *distance = (int32_t)bytes_at(at, f->size_size);
    for (; ends && h->id_bytes; ends--, at += f->leaf_size)
        if (bytes_at(at, f->leaf_size) >= f->leaves) return 0;
    return size;
}

static bool check_head(const ek_forest_head *h)
{
    const uint32_t most = h->trees | h->values | h->cuts, bits = (uint32_t)h->column_bits + h->link_bits;
    const bool real = h->leaf_bytes == 4, whole = h->leaf_bytes == 1 || h->leaf_bytes == 2;
    return h->trees && most < MOST && h->stream < MOST * 16 && h->columns && h->node_bytes - 2u <= 2 &&
           h->column_bits <= 16 && h->link_bits - 2u <= 6 && bits < h->node_bytes * 8u &&
           (real || (whole && h->aggregate <= EK_TREE_AGGREGATE_AVERAGE)) && h->aggregate <= EK_TREE_AGGREGATE_MAX &&
           h->id_bytes <= 2 && !h->reserved && (h->id_bytes || !(h->groups | h->values)) && h->guess_bits < 31;
}

static bool check_columns(const ek_forest *f, uint32_t features)
{
    const ek_forest_head *h = f->head;
    const uint32_t bits = 8u * h->node_bytes - f->limit_at, most = (1u << (bits < COUNT_BITS ? bits : COUNT_BITS)) - 1;
    uint32_t cuts = 0;
    bool members = true; /* the last column of its own cuts has, whose cuts none shares */
    for (uint32_t c = 0; c < h->columns; c++) {
        const uint32_t column = f->columns[c], count = column >> FEATURE_BITS & ((1u << COUNT_BITS) - 1);
        const bool same = column >> COLUMN_SAME_CUTS, of_members = column >> COLUMN_MEMBERS & 1;
        if ((column & 0xffff) >= features || (same && (members || of_members))) return false;
        if (h->guess_bits && (c > 0) != same) return false;
        if (same) continue;
        members = of_members;
        if (!members && count > most) return false;
        cuts += count;
    }
    return cuts == h->cuts;
}

/* Guesses are of the one list of cuts that all columns have. */
static bool check_guesses(const ek_forest *f)
{
    const ek_forest_head *h = f->head;
    if (!h->guess_bits) return true;
    if (!h->cuts || h->node_bytes > 2) return false;
    const uint32_t width = (uint32_t)f->cuts[h->cuts - 1] - (uint32_t)f->cuts[0];
    for (uint32_t i = 0; i < GUESSES; i++)
        if (f->guesses[i] >= h->cuts) return false;
    return width >> h->guess_bits < GUESSES && f->cuts[h->cuts - 1] >= f->cuts[0];
}

/* Finds the number of leaves that ids may name. */
static bool check_leaves(ek_forest *f)
{
    const ek_forest_head *h = f->head;
    uint32_t values = 0;
    f->leaves = h->values;
    if (h->groups) {
        f->leaves = 0;
        for (uint32_t g = 0; g < h->groups; g++) {
            const uint32_t length = f->groups[2 * g], count = f->groups[2 * g + 1], more = length * count;
            if (more > h->values - values) return false;
            values += more;
            f->leaves += count;
        }
        for (uint32_t i = 0; i < h->values; i++)
            if (bytes_at(f->targets + i * f->target_bytes, f->target_bytes) >= f->target_count) return false;
    }
    return values == (h->groups ? h->values : 0) && !h->id_bytes == !f->leaves;
}

/* Whether the `bytes` at `tree` are a tree: each subtree begins where the one before it ends. */
static bool check_tree(const ek_forest *f, const uint8_t *tree, uint32_t bytes)
{
    uint32_t at = 0, inner = bytes; /* where the innermost high subtree that is still to come begins */
    uint64_t steps = (uint64_t)STEPS * bytes;
    for (;;) {
        int32_t distance;
        const uint32_t size = check_item(f, tree + at, inner - at, &distance);
        at += size;
        if (!size || (distance == AN_END) != (at == inner)) return false;
        if (distance != AN_END) {
            if ((uint32_t)distance >= inner - at) return false;
            if (distance) inner = at + (uint32_t)distance;
            continue;
        }
        if (at == bytes) return true;
        inner = bytes;
        for (uint32_t from = 0; from != at;) { /* down to here */
            if (!steps--) return false;
            from += check_item(f, tree + from, bytes - from, &distance);
            const uint32_t high = from + (uint32_t)distance;
            if (high > at)
                inner = high;
            else
                from = high;
        }
    }
}

static bool check_trees(const ek_forest *f)
{
    const uint32_t bytes = f->size_size;
    const uint8_t *tree = f->stream, *size = f->sizes, *d = f->distances;
    if (d[TWO_LEAVES] || d[HIGH_LEAF] || d[FAR_APART] || d[LOW_LEAF] != f->leaf_size) return false;
    uint32_t left = f->head->stream;
    for (uint32_t t = f->head->trees; t; t--, size += bytes) {
        const uint32_t length = bytes_at(size, bytes);
        if (length > left || !check_tree(f, tree, length)) return false;
        tree += length;
        left -= length;
    }
    return !left;
}

#endif

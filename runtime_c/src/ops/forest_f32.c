/* What each row of a forest goes through: features become ranks, trees are walked, leaves become scores. */
#include "ops/forest_f32.h"

static uint32_t count_below(const int32_t *cuts, uint32_t count, int32_t key)
{
    const int32_t *low = cuts; /* is below the key */
    while (count > 1) {
        const uint32_t half = count >> 1;
        if (low[half] < key) low += half;
        count -= half;
    }
    return (uint32_t)(low - cuts) + 1;
}

/* Of nodes of 2 bytes, where all columns have one list of cuts and guesses tell where in it to begin. */
static void rank_by_guesses(const ek_forest *f, const float *x)
{
    const uint32_t *column = f->columns, *const end = column + f->head->columns;
    const int32_t *const cuts = f->cuts;
    const uint32_t guess_bits = f->head->guess_bits, limit_at = f->limit_at, count = f->head->cuts;
    const int32_t first = cuts[0];
    const uint32_t width = (uint32_t)cuts[count - 1] - (uint32_t)first;
    uint16_t *ranks = f->ranks;
    do {
        const uint32_t word = *column++;
        bool nan;
        const int32_t key = key_of(x + (word & 0xffff), &nan);
        const uint32_t above = (uint32_t)key - (uint32_t)first;
        uint32_t rank = 0;
        if (above - 1 < width) {
            rank = f->guesses[above >> guess_bits];
            while (cuts[rank] < key) rank++;
        } else if (nan ? !(word >> COLUMN_NAN_LOW & 1) : key > first) {
            rank = count;
        }
        *ranks++ = (uint16_t)(rank << limit_at);
    } while (column != end);
}

static void rank_by_columns(const ek_forest *f, const float *x)
{
    const uint32_t *column = f->columns, *const end = column + f->head->columns;
    const int32_t *cuts = f->cuts, *next = cuts;
    const uint32_t limit_at = f->limit_at, bytes = f->head->node_bytes;
    uint8_t *ranks = f->ranks;
    uint32_t count = 0;
    do {
        const uint32_t word = *column++;
        bool nan;
        const int32_t key = key_of(x + (word & 0xffff), &nan);
        uint32_t rank = 0;
        if (!(word >> COLUMN_SAME_CUTS)) {
            cuts = next;
            count = word >> FEATURE_BITS & ((1u << COUNT_BITS) - 1);
            next += count;
        }
        if (nan) {
            if (!(word >> COLUMN_NAN_LOW & 1)) rank = word >> COLUMN_MEMBERS & 1 ? 1 : count;
        } else {
            if (count && cuts[0] < key) rank = count_below(cuts, count, key);
            if (word >> COLUMN_MEMBERS & 1) rank = rank == count || cuts[rank] != key;
        }
        rank <<= limit_at;
        if (bytes == 2) {
            *(uint16_t *)(void *)ranks = (uint16_t)rank;
            ranks += 2;
        } else {
            *(uint32_t *)(void *)ranks = rank;
            ranks += 4;
        }
    } while (column != end);
}

void ek_forest_rank(const ek_forest *f, const float *x)
{
    (f->head->guess_bits ? rank_by_guesses : rank_by_columns)(f, x);
}

/* The value of leaf_bytes at `from` becomes part of a target's score. */
static void add_value(const ek_forest *f, const void *from, uint32_t target)
{
    const ek_forest_head *h = f->head;
    if (h->leaf_bytes == 4) {
        const bool is_min = h->aggregate == EK_TREE_AGGREGATE_MIN;
        float *sum = (float *)f->sums + target;
        const float value = *(const float *)from;
        if (h->aggregate <= EK_TREE_AGGREGATE_AVERAGE)
            *sum += value;
        else if (is_min ? value < *sum : value > *sum)
            *sum = value;
    } else {
        uint32_t *sum = (uint32_t *)f->sums + target;
        const int32_t value = h->leaf_bytes == 2 ? *(const int16_t *)from : *(const int8_t *)from;
        *sum += (uint32_t)value;
    }
}

static void add_leaf(const ek_forest *f, uint32_t leaf, uint32_t turn)
{
    const uint8_t *values = f->values;
    const uint16_t *group = f->groups;
    const uint32_t bytes = f->head->leaf_bytes;
    const union {
        uint32_t word;
        float real;
        int16_t integer;
    } own = { leaf };
    if (!f->head->groups) {
        add_value(f, f->head->id_bytes ? (const void *)(values + (size_t)leaf * bytes) : &own, turn);
        return;
    }
    uint32_t at = 0;
    for (; leaf >= group[1]; group += 2) {
        leaf -= group[1];
        at += (uint32_t)group[0] * group[1];
    }
    at += leaf * group[0];
    for (const uint32_t end = at + group[0]; at < end; at++)
        add_value(f, values + (size_t)at * bytes, bytes_at(f->targets + (size_t)at * f->target_bytes, f->target_bytes));
}

/* A tree's last node: what lies behind it, its link, and the way to the leaf. */
typedef struct last_node {
    const uint8_t *behind;
    uint32_t link;
    bool high;
} last_node;

static void walk_narrow(const ek_forest *f, const uint8_t *node, last_node *last)
{
    const uint16_t *ranks = f->ranks;
    const uint32_t columns = f->column_mask, apart = f->apart_mask, link_at = f->head->column_bits,
                   links = f->link_mask;
    const uint8_t *distances = f->distances;
    for (;;) {
        const uint32_t w = bytes_at(node, 2);
        node += 2;
        if (w < ranks[w & columns]) {
            const uint32_t link = w >> link_at & links, distance = distances[link];
            node += distance;
            if (distance) continue;
            if (link != FAR_APART) {
                *last = (last_node){ node, link, true };
                return;
            }
            node += 2 + bytes_at(node, 2);
        } else if (!(w & apart)) {
            const uint32_t link = w >> link_at & 3;
            if (link == TWO_LEAVES || link == LOW_LEAF) {
                *last = (last_node){ node, link, false };
                return;
            }
            node += link == HIGH_LEAF ? f->leaf_size : 2;
        }
    }
}

static void walk_wide(const ek_forest *f, const uint8_t *node, last_node *last)
{
    const uint32_t *ranks = f->ranks, bytes = f->head->node_bytes;
    for (;;) {
        const uint32_t w = bytes_at(node, bytes), link = w >> f->head->column_bits & f->link_mask;
        const uint32_t distance = f->distances[link];
        const bool high = w < ranks[w & f->column_mask];
        node += bytes;
        *last = (last_node){ node, link, high };
        if (link == FAR_APART)
            node += 4 + (high ? bytes_at(node, 4) : 0);
        else if (high ? !distance : link == TWO_LEAVES || link == LOW_LEAF)
            return;
        else
            node += high ? distance : link == HIGH_LEAF ? f->leaf_size : 0;
    }
}

/* The leaf becomes part of the scores. */
static void take_leaf(const ek_forest *f, const last_node *last, uint32_t turn)
{
    const uint8_t *at = last->behind;
    uint32_t leaf = last->link - LOW_LEAF - 1;
    if (last->link == TWO_LEAVES && f->head->id_bytes == 1 && *at++ != OWN_BYTES)
        leaf = last->high ? at[-1] >> 4 : at[-1] & 15;
    else if (last->link <= LOW_LEAF)
        leaf = bytes_at(at + (last->link == TWO_LEAVES && last->high ? f->leaf_size : 0), f->leaf_size);
    if (leaf < f->singles) {
        const int32_t value = ((const int8_t *)f->values)[leaf];
        ((uint32_t *)f->sums)[f->targets[leaf]] += (uint32_t)value;
    } else {
        add_leaf(f, leaf, turn);
    }
}

void ek_forest_score(const ek_forest *f)
{
    const bool narrow = f->head->node_bytes == 2;
    const uint8_t *tree = f->stream;
    uint32_t turn = 0;
    for (uint32_t t = 0; t < f->head->trees; t++) {
        last_node last;
        (narrow ? walk_narrow : walk_wide)(f, tree, &last);
        take_leaf(f, &last, turn);
        tree += narrow ? ((const uint16_t *)(const void *)f->sizes)[t] : ((const uint32_t *)(const void *)f->sizes)[t];
        turn = turn + 1 < f->target_count ? turn + 1 : 0;
    }
}

/* Forests. Features become ranks among the cuts that the forest compares them with, so that a node compares small
 * integers and decides as the floats would. Children lie behind their parent: a walk ends within the tree. */
#include "ops/classical/tree_sections.h"

static bool check_columns(const ek_fmt_tree_ensemble *p, const uint8_t *columns)
{
    uint64_t cuts = 0;
    bool members = true; /* the last column of its own cuts has, whose cuts none shares */
    for (uint32_t c = 0; c < p->columns; c++) {
        const uint32_t column = u32_at(columns, c), count = column >> FEATURE_BITS & ((1u << COUNT_BITS) - 1);
        const bool shared = shares_cuts(column), mirror = column >> COLUMN_MIRROR && !shared;
        if (mirror ? c == 0 : (column & 0xffff) >= p->features) return false;
        if (shared && members) return false;
        if (column >> COLUMN_MIRROR) continue;
        if (!is_wide(p) && count > NARROW_CUTS) return false;
        members = column >> COLUMN_MEMBERS & 1;
        cuts += count;
    }
    return cuts == p->cuts;
}

static bool check_leaves(const ek_fmt_tree_ensemble *p, const sections *s, const ek_node *n)
{
    if (!p->leaf_rows) return true;
    const uint8_t *targets = at(n, s->entry_targets), *firsts = at(n, s->firsts), *rows = at(n, s->leaf_rows);
    for (uint32_t e = 0; e < p->entries; e++)
        if (u16_at(targets, e) >= p->targets) return false;
    for (uint32_t r = 0; r < p->leaf_rows; r++)
        if (u32_at(firsts, r) > u32_at(firsts, r + 1)) return false;
    if (u32_at(firsts, p->leaf_rows) > p->entries) return false;
    for (uint32_t i = 0; i < p->leaves; i++)
        if (u16_at(rows, i) >= p->leaf_rows) return false;
    return true;
}

/* Nodes `from` to `to` are a tree with leaves from `leaf` on. */
static bool check_nodes(const ek_fmt_tree_ensemble *p, const uint8_t *nodes, uint32_t from, uint32_t to, uint32_t leaf)
{
    for (uint32_t i = from; i < to; i++) {
        const fields f = fields_of(p, nodes + (size_t)i * p->node_bytes);
        const bool both = f.flags & BOTH_ARE_LEAVES, far_leaf = f.flags & FAR_IS_LEAF;
        if (f.column >= p->columns || (both && !far_leaf)) return false;
        if (!both && i + 1 >= to) return false;
        if (far_leaf ? (uint64_t)leaf + f.link + both >= p->leaves : !f.link || f.link >= to - i) return false;
    }
    return true;
}

static bool check_trees(const ek_node *n, const ek_fmt_tree_ensemble *p, const sections *s)
{
    const uint8_t *trees = at(n, s->trees), *nodes = at(n, s->nodes);
    uint32_t node = 0, leaf = 0;
    for (uint32_t t = 0; t < p->trees; t++) {
        uint32_t node_count, leaf_count;
        sizes_of(p, trees, t, &node_count, &leaf_count);
        if (!node_count || node_count > p->nodes - node || leaf_count > p->leaves - leaf) return false;
        if (!check_nodes(p, nodes, node, node + node_count, leaf)) return false;
        if (p->tree_targets && u16_at(at(n, s->targets), t) >= p->targets) return false;
        node += node_count;
        leaf += leaf_count;
    }
    return node == p->nodes;
}

static bool check_widths(const ek_fmt_tree_ensemble *p)
{
    const uint32_t bits = FLAGS + (uint32_t)p->rank_bits + p->column_bits;
    switch (p->node_bytes) {
    case 3: return p->rank_bits <= 8 && p->column_bits <= 8 && bits < 24;
    case 4: return p->rank_bits == 8 && p->column_bits == 8;
    case 8: return p->rank_bits == 16 && p->column_bits == 16;
    default: return false;
    }
}

static ek_status tree_ensemble_f32_check(const ek_node *n)
{
    const ek_fmt_tree_ensemble *p = n->params;
    const bool counts = p->rows && p->features && p->targets && p->trees && p->nodes && p->leaves && p->columns &&
                        p->features <= 0xffff + 1u && p->targets <= 0xffff && p->aggregate <= EK_TREE_AGGREGATE_MAX &&
                        p->tree_targets <= 1 && !p->reserved;
    const bool leaves = p->leaf_bytes == 4 || p->leaf_bytes == 2 || p->leaf_bytes == 1;
    if (!counts || !leaves || !check_widths(p) || (p->columns > 256 && !is_wide(p)) ||
        !ek_check_in(n, 0, EK_DTYPE_FLOAT32, ek_mul64(p->rows, p->features)) ||
        !ek_check_out(n, 0, EK_DTYPE_FLOAT32, ek_mul64(p->rows, p->targets)))
        return EK_ERR_CORRUPT;
    const sections s = tree_ensemble_f32_lay_out(p);
    if (!ek_check_blob(n, p->table, s.end - p->table, 4)) return EK_ERR_CORRUPT;
    return check_columns(p, at(n, p->table)) && check_leaves(p, &s, n) && check_trees(n, p, &s) ? EK_OK
                                                                                                : EK_ERR_CORRUPT;
}

static uint64_t rank_bytes(const ek_fmt_tree_ensemble *p)
{
    return ((uint64_t)p->columns * (is_wide(p) ? 2 : 1) + 3) & ~(uint64_t)3;
}

/* Ranks, then sums of integer leaves. */
static uint64_t tree_ensemble_f32_scratch(const ek_node *n)
{
    const ek_fmt_tree_ensemble *p = n->params;
    return rank_bytes(p) + (p->leaf_bytes < 4 ? (uint64_t)p->targets * 4 : 0);
}

/* Integers in the order of the floats, 0 and -0 alike. */
static int32_t key_of(const float *x, bool *nan)
{
    const union {
        float value;
        int32_t bits;
    } word = { *x };
    const int32_t bits = word.bits, size = bits & 0x7fffffff;
    *nan = size > NAN_KEY;
    return bits < 0 ? -size : size;
}

static uint32_t count_below(const int32_t *cuts, uint32_t count, int32_t key)
{
    const int32_t *low = cuts; /* is below the key */
    if (!count || *low >= key) return 0;
    while (count > 1) {
        const uint32_t half = count >> 1;
        if (low[half] < key) low += half;
        count -= half;
    }
    return (uint32_t)(low - cuts) + 1;
}

/* The rank of x in a column of `count` cuts. */
static uint32_t rank_of(bool members, bool nan_low, const int32_t *cuts, uint32_t count, const float *x)
{
    bool nan;
    const int32_t key = key_of(x, &nan);
    if (nan) return nan_low ? 0 : members ? 1 : count;
    if (!members) return count_below(cuts, count, key);
    const uint32_t below = count_below(cuts, count, key);
    return below == count || cuts[below] != key;
}

static void rank_features(const ek_node *n, const ek_fmt_tree_ensemble *p, const float *x)
{
    const uint32_t *columns = (const uint32_t *)(const void *)at(n, p->table);
    const int32_t *cuts = (const int32_t *)(const void *)(columns + p->columns), *next = cuts;
    uint8_t *narrow = n->scratch;
    uint16_t *wide = n->scratch;
    uint32_t count = 0, rank = 0;
    bool members = false;
    for (uint32_t c = 0; c < p->columns; c++) {
        const uint32_t column = columns[c];
        if (!(column >> COLUMN_MIRROR)) {
            members = column >> COLUMN_MEMBERS & 1;
            count = column >> FEATURE_BITS & ((1u << COUNT_BITS) - 1);
            cuts = next;
            next += count;
        }
        if (column >> COLUMN_MIRROR && !shares_cuts(column))
            rank = (members ? 1 : count) - rank;
        else
            rank = rank_of(members, column >> COLUMN_NAN_LOW & 1, cuts, count, x + (column & 0xffff));
        if (is_wide(p))
            wide[c] = (uint16_t)rank;
        else
            narrow[c] = (uint8_t)rank;
    }
}

/* How to read a node: shifts and masks, and a function for its size that gives the leaf that a tree comes to, counted
 * from the tree's first. */
typedef struct node_bits {
    uint32_t column_at, link_at, columns, limits;
    uint32_t (*walk)(const uint8_t *node, const void *ranks, const struct node_bits *bits);
} node_bits;

static uint32_t walk_3(const uint8_t *node, const void *ranks, const node_bits *bits)
{
    const uint8_t *of = ranks;
    const node_bits b = *bits;
    for (;;) {
        const uint32_t w = word_of(node, 3), link = w >> b.link_at;
        if (of[w >> b.column_at & b.columns] <= (w >> FLAGS & b.limits)) {
            if (w & BOTH_ARE_LEAVES) return link;
            node += 3;
        } else {
            if (w & FAR_IS_LEAF) return link + (w >> 1 & 1);
            node += (size_t)link * 3;
        }
    }
}

static uint32_t walk_4(const uint8_t *node, const void *ranks, const node_bits *bits)
{
    const uint8_t *of = ranks;
    (void)bits;
    for (;;) {
        const uint32_t w = word_of(node, 4), link = w >> 18;
        if (of[w >> 10 & 0xff] <= (w >> FLAGS & 0xff)) {
            if (w & BOTH_ARE_LEAVES) return link;
            node += 4;
        } else {
            if (w & FAR_IS_LEAF) return link + (w >> 1 & 1);
            node += (size_t)link * 4;
        }
    }
}

/* Nodes of eight bytes: flags and link, limit and column. */
static uint32_t walk_8(const uint8_t *node, const void *ranks, const node_bits *bits)
{
    const uint16_t *of = ranks;
    (void)bits;
    for (;;) {
        const uint32_t w = word_of(node, 8), test = word_of(node + 4, 8), link = w >> FLAGS;
        if (of[test & 0xffff] <= test >> 16) {
            if (w & BOTH_ARE_LEAVES) return link;
            node += 8;
        } else {
            if (w & FAR_IS_LEAF) return link + (w >> 1 & 1);
            node += (size_t)link * 8;
        }
    }
}

static node_bits bits_of(const ek_fmt_tree_ensemble *p)
{
    const uint32_t column_at = FLAGS + (uint32_t)p->rank_bits;
    return (node_bits){ .column_at = column_at,
                        .link_at = column_at + p->column_bits,
                        .columns = (1u << p->column_bits) - 1,
                        .limits = (1u << p->rank_bits) - 1,
                        .walk = p->node_bytes == 3   ? walk_3
                                : p->node_bytes == 4 ? walk_4
                                                     : walk_8 };
}

/* Where leaves are: entries of a value and a target, and which of them a leaf has. */
typedef struct leaf_tables {
    const uint8_t *values;
    const uint16_t *targets, *rows; /* NULL where a leaf is one value of its tree's target */
    const uint32_t *firsts;
} leaf_tables;

static leaf_tables tables_of(const ek_node *n, const ek_fmt_tree_ensemble *p, const sections *s)
{
    leaf_tables l = { at(n, s->values), NULL, NULL, NULL };
    if (p->leaf_rows) {
        l.targets = (const uint16_t *)(const void *)at(n, s->entry_targets);
        l.rows = (const uint16_t *)(const void *)at(n, s->leaf_rows);
        l.firsts = (const uint32_t *)(const void *)at(n, s->firsts);
    }
    return l;
}

static int32_t integer_at(const ek_fmt_tree_ensemble *p, const uint8_t *values, uint32_t i)
{
    return p->leaf_bytes == 2 ? ((const int16_t *)(const void *)values)[i] : ((const int8_t *)values)[i];
}

static void add_value(const ek_fmt_tree_ensemble *p, const uint8_t *values, uint32_t i, void *sums, uint32_t target)
{
    const bool is_sum = p->aggregate <= EK_TREE_AGGREGATE_AVERAGE, is_min = p->aggregate == EK_TREE_AGGREGATE_MIN;
    if (p->leaf_bytes == 4) {
        float *sum = (float *)sums + target;
        const float value = ((const float *)(const void *)values)[i];
        if (is_sum)
            *sum += value;
        else if (is_min ? value < *sum : value > *sum)
            *sum = value;
    } else {
        int32_t *sum = (int32_t *)sums + target;
        const int32_t value = integer_at(p, values, i);
        if (is_sum)
            *sum = (int32_t)((uint32_t)*sum + (uint32_t)value);
        else if (is_min ? value < *sum : value > *sum)
            *sum = value;
    }
}

static void add_leaf(const ek_fmt_tree_ensemble *p, const leaf_tables *l, void *sums, uint32_t leaf, uint32_t target)
{
    if (!l->rows) {
        add_value(p, l->values, leaf, sums, target);
        return;
    }
    const uint32_t row = l->rows[leaf], end = l->firsts[row + 1];
    if (p->leaf_bytes == 1 && p->aggregate <= EK_TREE_AGGREGATE_AVERAGE) { /* as most classifiers have them */
        uint32_t *const words = sums;
        for (uint32_t e = l->firsts[row]; e < end; e++) {
            const int32_t value = ((const int8_t *)l->values)[e];
            words[l->targets[e]] += (uint32_t)value;
        }
        return;
    }
    for (uint32_t e = l->firsts[row]; e < end; e++) add_value(p, l->values, e, sums, l->targets[e]);
}

static void start_sums(const ek_fmt_tree_ensemble *p, float *floats, int32_t *integers)
{
    const bool min = p->aggregate == EK_TREE_AGGREGATE_MIN, max = p->aggregate == EK_TREE_AGGREGATE_MAX;
    const int32_t infinite = min ? NAN_KEY : max ? (int32_t)(NAN_KEY | INT32_MIN) : 0;
    for (uint32_t t = 0; t < p->targets; t++) {
        if (p->leaf_bytes == 4)
            memcpy(floats + t, &infinite, sizeof infinite);
        else
            integers[t] = min ? INT32_MAX : max ? INT32_MIN : 0;
    }
}

/* A target that no leaf has scored has the score 0. */
static void tree_ensemble_f32_finish(const ek_fmt_tree_ensemble *p, const float *base, float *out,
                                     const int32_t *integers)
{
    const bool extreme = p->aggregate > EK_TREE_AGGREGATE_AVERAGE;
    for (uint32_t t = 0; t < p->targets; t++) {
        float score;
        if (p->leaf_bytes == 4) {
            bool nan;
            score = out[t];
            const int32_t key = key_of(&score, &nan);
            if (extreme && (key == NAN_KEY || key == -NAN_KEY)) score = 0.0f;
        } else {
            const bool unset = extreme && (integers[t] == INT32_MAX || integers[t] == INT32_MIN);
            score = unset ? 0.0f : (float)integers[t] * p->scale;
        }
        if (p->aggregate == EK_TREE_AGGREGATE_AVERAGE) score /= (float)p->trees;
        out[t] = score + base[t];
    }
}

static ek_status tree_ensemble_f32_run(const ek_node *n)
{
    const ek_fmt_tree_ensemble *p = n->params;
    const sections s = tree_ensemble_f32_lay_out(p);
    const uint8_t *trees = at(n, s.trees), *targets = at(n, s.targets);
    const leaf_tables tables = tables_of(n, p, &s);
    const node_bits bits = bits_of(p);
    const float *x = ek_in(n, 0), *base = (const float *)(const void *)at(n, s.base);
    float *out = ek_out(n, 0);
    int32_t *integers = (int32_t *)(void *)((uint8_t *)n->scratch + rank_bytes(p));
    void *sums = p->leaf_bytes == 4 ? (void *)out : integers;
    for (uint32_t r = 0; r < p->rows; r++, x += p->features, out += p->targets) {
        const uint8_t *node = at(n, s.nodes);
        uint32_t leaf = 0, turn = 0;
        if (p->leaf_bytes == 4) sums = out;
        rank_features(n, p, x);
        start_sums(p, out, integers);
        for (uint32_t t = 0; t < p->trees; t++) {
            uint32_t node_count, leaf_count;
            const uint32_t target = p->tree_targets ? u16_at(targets, t) : turn;
            sizes_of(p, trees, t, &node_count, &leaf_count);
            add_leaf(p, &tables, sums, leaf + bits.walk(node, n->scratch, &bits), target);
            node += (size_t)node_count * p->node_bytes;
            leaf += leaf_count;
            turn = turn + 1 < p->targets ? turn + 1 : 0;
        }
        tree_ensemble_f32_finish(p, base, out, integers);
    }
    return EK_OK;
}

const ek_op ek_op_tree_ensemble_f32 = { .inputs_min = 1,
                                        .inputs_max = 1,
                                        .outputs = 1,
                                        .check = tree_ensemble_f32_check,
                                        .scratch = tree_ensemble_f32_scratch,
                                        .run = tree_ensemble_f32_run };

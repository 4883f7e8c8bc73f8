/* Forests. Features become ranks among the cuts that the forest compares them with, so that a node compares small
 * integers and decides as the floats would. Children lie behind their parent: a walk ends within the tree. */
#include "ops/classical/tree_check.h"

static uint32_t aligned_to_4(uint32_t bytes)
{
    return (bytes + 3) & ~(uint32_t)3;
}

/* The next section. */
static const void *forest_section(const uint8_t **next, uint32_t bytes)
{
    const uint8_t *at = *next;
    *next += aligned_to_4(bytes);
    return at;
}

/* The sections of a table whose head has been checked. */
static ek_forest forest_of(const ek_node *n)
{
    const ek_fmt_tree_ensemble *p = n->params;
    const uint8_t *next = ek_blob(n, p->table);
    ek_forest f = { .head = forest_section(&next, sizeof(ek_forest_head)), .target_count = p->targets };
    const ek_forest_head *h = f.head;
    f.target_bytes = p->targets > 256 ? 2 : 1;
    f.leaf_size = h->id_bytes ? h->id_bytes : h->leaf_bytes;
    f.size_size = h->node_bytes == 2 ? 2 : 4;
    f.limit_at = (uint32_t)h->column_bits + h->link_bits;
    f.column_mask = (1u << h->column_bits) - 1;
    f.link_mask = (1u << h->link_bits) - 1;
    f.apart_mask = (f.link_mask & ~3u) << h->column_bits;
    f.columns = forest_section(&next, h->columns * 4u);
    f.cuts = forest_section(&next, h->cuts * 4);
    f.base = forest_section(&next, p->targets * 4);
    f.values = forest_section(&next, h->values * h->leaf_bytes);
    f.groups = forest_section(&next, h->groups * 4u);
    f.targets = forest_section(&next, h->groups ? h->values * f.target_bytes : 0);
    f.distances = forest_section(&next, 1u << h->link_bits);
    f.guesses = forest_section(&next, h->guess_bits ? GUESSES : 0);
    f.sizes = forest_section(&next, h->trees * f.size_size);
    f.stream = next;
    f.ranks = n->scratch;
    return f;
}

static uint32_t rank_bytes(const ek_forest_head *h)
{
    return aligned_to_4(h->columns * (h->node_bytes == 2 ? 2u : 4u));
}

static ek_status tree_ensemble_f32_check(const ek_node *n)
{
    const ek_fmt_tree_ensemble *p = n->params;
    if (!p->rows || !p->features || p->features > 0xffff + 1u || !p->targets || p->targets > 0xffff ||
        !ek_check_in(n, 0, EK_DTYPE_FLOAT32, ek_mul64(p->rows, p->features)) ||
        !ek_check_out(n, 0, EK_DTYPE_FLOAT32, ek_mul64(p->rows, p->targets)) ||
        !ek_check_blob(n, p->table, sizeof(ek_forest_head), 4))
        return EK_ERR_CORRUPT;
    const ek_forest_head *h = ek_blob(n, p->table);
    const uint32_t sums = h->leaf_bytes < 4 ? p->targets * 4 : 0;
    if (!check_head(h) || p->scratch != rank_bytes(h) + sums) return EK_ERR_CORRUPT;
    ek_forest f = forest_of(n);
    return ek_check_blob(n, p->table, (uint32_t)(f.stream - (const uint8_t *)h) + h->stream, 4) &&
                   check_columns(&f, p->features) && check_guesses(&f) && check_leaves(&f) && check_trees(&f)
               ? EK_OK
               : EK_ERR_CORRUPT;
}

static uint64_t tree_ensemble_f32_scratch(const ek_node *n)
{
    const ek_fmt_tree_ensemble *p = n->params;
    return p->scratch;
}

/* Of Min and Max, what no leaf has touched. */
static bool is_infinite(const float *x)
{
    bool nan;
    const int32_t key = key_of(x, &nan);
    return key == NAN_KEY || key == -NAN_KEY;
}

static ek_status tree_ensemble_f32_run(const ek_node *n)
{
    const ek_fmt_tree_ensemble *p = n->params;
    ek_forest f = forest_of(n);
    const ek_forest_head *h = f.head;
    if (h->groups && f.groups[0] == 1 && h->leaf_bytes == 1 && f.target_bytes == 1) f.singles = f.groups[1];
    const bool integers = h->leaf_bytes<4, extreme = h->aggregate> EK_TREE_AGGREGATE_AVERAGE;
    const uint32_t start = !extreme ? 0 : h->aggregate == EK_TREE_AGGREGATE_MIN ? NAN_KEY : NAN_KEY | 1u << 31;
    const float *x = ek_in(n, 0);
    float *out = ek_out(n, 0);
    uint32_t *const sums = (uint32_t *)(void *)((uint8_t *)n->scratch + rank_bytes(h));
    for (uint32_t r = 0; r < p->rows; r++, x += p->features) {
        f.sums = integers ? (void *)sums : out;
        for (uint32_t t = 0; t < f.target_count; t++) memcpy((uint32_t *)f.sums + t, &start, sizeof start);
        ek_forest_rank(&f, x);
        ek_forest_score(&f);
        for (uint32_t t = 0; t < f.target_count; t++, out++) {
            float score = integers ? (float)(int32_t)sums[t] * h->scale : *out;
            if (extreme && is_infinite(&score)) score = 0.0f; /* no leaf has scored it */
            if (h->aggregate == EK_TREE_AGGREGATE_AVERAGE) score /= (float)h->trees;
            *out = score + f.base[t];
        }
    }
    return EK_OK;
}

const ek_op ek_op_tree_ensemble_f32 = { .inputs_min = 1,
                                        .inputs_max = 1,
                                        .outputs = 1,
                                        .check = tree_ensemble_f32_check,
                                        .scratch = tree_ensemble_f32_scratch,
                                        .run = tree_ensemble_f32_run };

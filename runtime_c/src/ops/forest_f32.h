/* Forests in memory: how a table lies in the blob (edge.fbs, TreeEnsemble), and the two loops that a row goes through.
 */
#ifndef EK_FOREST_F32_H
#define EK_FOREST_F32_H

#include "op.h"

enum {
    FEATURE_BITS = 16,
    COUNT_BITS = 13,
    COLUMN_MEMBERS = 29,
    COLUMN_NAN_LOW = 30,
    COLUMN_SAME_CUTS = 31,
    MOST = 1 << 24, /* of trees, values and cuts: no sum of sections leaves 32 bits */
    NAN_KEY = 0x7f800000
};

/* Links; the others are distances, or high leaves by their ids where the distance is 0. */
enum { TWO_LEAVES = 0, HIGH_LEAF = 1, FAR_APART = 2, LOW_LEAF = 3 };

/* Guesses of ranks, where there are any. */
enum { GUESSES = 64 };

/* In place of two nibbles: two leaves in bytes of their own follow. */
enum { OWN_BYTES = 0xff };

/* What the table of a forest begins with. */
typedef struct ek_forest_head {
    float scale;
    uint32_t trees, stream, values, cuts;
    uint16_t columns, groups;
    uint8_t node_bytes, column_bits, link_bits, leaf_bytes, id_bytes, aggregate, guess_bits, reserved;
} ek_forest_head;

EK_STATIC_ASSERT(sizeof(ek_forest_head) == 32, "ek_forest_head");

/* A table's sections, and a run's memory. */
typedef struct ek_forest {
    const ek_forest_head *head;
    const uint32_t *columns;
    const int32_t *cuts;
    const uint8_t *guesses;
    const float *base;
    const uint8_t *values;
    const uint16_t *groups;
    const uint8_t *targets, *distances, *sizes, *stream;
    const uint8_t *end; /* of all */
    uint32_t target_count, target_bytes;
    uint32_t leaf_size; /* in the stream */
    uint32_t size_size; /* of the size of a tree, and of distances in the stream */
    uint32_t limit_at;  /* bits below a limit */
    uint32_t leaves;    /* that ids may name; found by the check */
    uint32_t column_mask, link_mask;
    uint32_t apart_mask; /* in place, of links that are distances */
    uint32_t singles;    /* leaves that are one value of 8 bits for a target below 256: most classifiers have such */
    void *ranks, *sums;
} ek_forest;

/* A little-endian number of 1 to 4 bytes anywhere. */
static inline uint32_t bytes_at(const uint8_t *at, uint32_t bytes)
{
    uint32_t value = at[0];
    if (bytes > 1) value |= (uint32_t)at[1] << 8;
    if (bytes > 2) value |= (uint32_t)at[2] << 16;
    if (bytes > 3) value |= (uint32_t)at[3] << 24;
    return value;
}

/* Integers in the order of the floats, 0 and -0 alike. */
static inline int32_t key_of(const float *x, bool *nan)
{
    const union {
        float value;
        int32_t bits;
    } word = { *x };
    const int32_t bits = word.bits, size = bits & 0x7fffffff;
    *nan = size > NAN_KEY;
    return bits < 0 ? -size : size;
}

/* The ranks of a row's features, as nodes hold limits: a node's word is at least its column's rank where that is at
 * most its limit. */
void ek_forest_rank(const ek_forest *f, const float *x);

/* Adds the leaves that the trees come to to the sums. */
void ek_forest_score(const ek_forest *f);

#endif

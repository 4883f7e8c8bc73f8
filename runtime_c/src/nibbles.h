/* How weights of 4 bits lie in a file, for operators and kernels: ek_w4 of edgekit/kernels.h. */
#ifndef EK_NIBBLES_H
#define EK_NIBBLES_H

#include <stddef.h>
#include <stdint.h>

/* Bytes of a row of so many nibbles. */
static inline size_t ek_w4_row(size_t count)
{
    return count / 2 + count % 2;
}

/* Multipliers of a row. */
static inline size_t ek_w4_groups(size_t count, size_t group)
{
    return group ? count / group + (count % group != 0) : 0; /* the sum of both may not fit */
}

static inline int32_t ek_w4_at(const uint8_t *row, size_t i)
{
    const int32_t nibble = row[i / 2] >> (i % 2 * 4) & 15;
    return (nibble ^ 8) - 8;
}

/* The lower one of a byte of two. */
static inline int32_t ek_w4_lower(int32_t both)
{
    return (int32_t)((uint32_t)both << 28) >> 28;
}

#endif

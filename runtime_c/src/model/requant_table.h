/* Tables of requantization in the fewest bits, as files that people exchange have them; a session widens them when it
 * is made. Files packed for a kernel table hold wide ones: int32 bias[biases], int32 multiplier[n], int8 shift[n]. */
#ifndef EK_REQUANT_TABLE_H
#define EK_REQUANT_TABLE_H

#include "op.h"

/* The table of an operator. */
struct ek_table {
    const ek_fmt_requant *requant;
    uint64_t biases, n;
    uint8_t width; /* of multipliers, in bits */
    int8_t least_shift, most_shift;
};

#define EK_TABLE_S8(r, biases, n)  ((ek_table){ r, biases, n, 31, -30, 30 })
#define EK_TABLE_S16(r, biases, n) ((ek_table){ r, biases, n, 23, 1, 62 })

/* Whatever bits are there, they are a table. For tables that are tight. EK_ERR_UNSUPPORTED by firmware that has no
 * memory to widen them in. */
ek_status ek_check_tight(const ek_node *node, const ek_table *t);

/* Bytes of the wide table in place of a tight one; 0 where it is wide. Of a checked one. */
uint64_t ek_widened_bytes(const ek_table *t);
/* And that table, into memory aligned to 4. */
void ek_widen_table(void *to, const ek_node *node, const ek_table *t);

#endif

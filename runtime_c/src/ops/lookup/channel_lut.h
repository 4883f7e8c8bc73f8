/* What ChannelLut of int8 and of int16 have in common. */
#ifndef EK_CHANNEL_LUT_H
#define EK_CHANNEL_LUT_H

#include "own.h"
#include "op.h"

enum { MOST_TABLES = 256 };

/* For check: tables of so many bytes each, aligned to their elements. */
static bool EK_OWN(check_body)(const ek_node *n, const ek_fmt_channel_lut *p, uint8_t dtype, uint32_t bytes)
{
    const uint64_t count = ek_mul64(p->rows, p->channels);
    if (p->tables > MOST_TABLES || !ek_check_in(n, 0, dtype, count) || !ek_check_out(n, 0, dtype, count) ||
        !ek_check_blob(n, p->index, p->channels, 1) ||
        !ek_check_blob(n, p->table, (uint64_t)p->tables * bytes, ek_dtype_bytes(dtype)))
        return false;
    const uint8_t *index = ek_blob(n, p->index);
    for (uint32_t c = 0; c < p->channels; c++)
        if (index[c] >= p->tables) return false;
    return true;
}

#endif

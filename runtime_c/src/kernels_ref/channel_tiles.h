/* channel_lut_s8 for vectors, which hold elements of one channel to look them up in one table: tiles of 16 channels are
 * turned, looked up and turned back. Files define
 *     GROUP   rows of a vector
 *     TILE    rows that a tile has at most, a multiple of it: loading a table serves them all
 *     LEAST   rows for which a group of rows that are not all there is faster than one element after the other
 *     static void tile(int8_t *out, const int8_t *in, size_t step, size_t groups, const int8_t *const *tables)
 *             that does `groups` groups of rows, each `step` bytes behind the one before, of 16 channels whose
 *             tables these are
 * and get run_tiles, which has the meaning of the kernel.
 */
#ifndef EK_CHANNEL_TILES_H
#define EK_CHANNEL_TILES_H

#include <string.h>

#include "reference.h"

enum { CHANNELS = 16 };

static void tile(int8_t *out, const int8_t *in, size_t step, size_t groups, const int8_t *const *tables);

static inline void copy_rows(int8_t *out, size_t out_step, const int8_t *in, size_t in_step, size_t rows)
{
    for (; rows; rows--, in += in_step, out += out_step) memcpy(out, in, CHANNELS);
}

/* Fewer rows than a group. */
static inline void some_rows(int8_t *out, const int8_t *in, size_t step, size_t rows, const int8_t *const *tables)
{
    int8_t group[GROUP * CHANNELS] = { 0 };
    copy_rows(group, CHANNELS, in, step, rows);
    tile(group, group, CHANNELS, 1, tables);
    copy_rows(out, step, group, CHANNELS, rows);
}

/* So many rows are taken for one that whole tiles cover it. */
static inline void run_tiles(int8_t *out, const int8_t *in, size_t rows, const ek_channel_lut_s8 *p)
{
    const size_t channels = p->channels;
    size_t joined = 1;
    while (channels * joined % CHANNELS) joined *= 2;
    const size_t step = channels * joined;
    for (size_t lines = rows / joined, n; lines >= LEAST; lines -= n, rows -= n * joined) {
        n = lines < GROUP ? lines : lines < TILE ? lines / GROUP * GROUP : TILE;
        for (size_t at = 0, c = 0; at < step; at += CHANNELS) {
            const int8_t *tables[CHANNELS];
            for (int i = 0; i < CHANNELS; i++, c = c + 1 == channels ? 0 : c + 1)
                tables[i] = p->tables + 256 * (size_t)p->index[c];
            if (n < GROUP)
                some_rows(out + at, in + at, step, n, tables);
            else
                tile(out + at, in + at, step, n / GROUP, tables);
        }
        in += n * step, out += n * step;
    }
    ek_channel_lut_s8_ref(out, in, rows, p);
}

#endif

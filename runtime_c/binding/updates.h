/* Updates made and applied, for the host's Python alone: no part of the runtime. */
#ifndef EDGEKIT_BINDING_UPDATES_H
#define EDGEKIT_BINDING_UPDATES_H

#include <stddef.h>
#include <stdint.h>

/* [cdef] */
/* A run of `length` bytes: kind 0 literal; 1 a copy from `from`, before it, in the new file; 2 the differences to the
   old file at `from`. */
typedef struct {
    uint32_t kind, length, from;
} ek_update_run;

/* The coded bytes, in `out`, of the runs that make up `file`; their number, or 0 for more than `most`. */
uint32_t ek_update_code(const ek_update_run *runs, uint32_t count, const uint8_t *file, const uint8_t *old,
                        uint8_t *out, uint32_t most);

/* Apply the `n` bytes of `update` in pieces, as a device does, to `out` of `capacity` bytes. Writes the size made;
   returns an ek_status. */
int32_t ek_update_apply(const uint8_t *update, uint32_t n, uint32_t piece, const uint8_t *old, uint32_t old_bytes,
                        uint8_t *out, uint32_t capacity, uint32_t *made);
/* [/cdef] */

#endif

/* Operators of two inputs that broadcast: what they check, and how they walk the rows. */
#ifndef EK_OPS_BROADCAST_H
#define EK_OPS_BROADCAST_H

#include "ops/heavy_checks.h"

/* One past the last element that `steps` reach, 0 when that is beyond 32 bits. */
static inline uint64_t ek_broadcast_reach(const uint32_t *dims, const uint32_t *steps)
{
    uint64_t reach = 1;
    for (int d = 0; d < 4; d++) {
        const uint64_t span = (uint64_t)(dims[d] - 1) * steps[d];
        if (span > UINT32_MAX) return 0;
        reach += span;
    }
    return reach > UINT32_MAX ? 0 : reach;
}

/* An input that the output takes over has its elements where the output has them: of others some would be
 * overwritten before they are read. */
static inline bool ek_check_taken_over(const ek_node *n, uint32_t i, const uint32_t *dims, const uint32_t *steps)
{
    const ek_fmt_tensor *in = ek_in_tensor(n, i), *out = ek_out_tensor(n, 0);
    if (ek_in_type(n, i)->place != ek_out_type(n, 0)->place || in->offset != out->offset) return true;
    uint32_t behind = 1;
    for (int d = 3; d >= 0; behind *= dims[d--])
        if (dims[d] > 1 && steps[d] != behind) return false;
    return true;
}

/* a and b are of `dtype`, the output is of `to`, and all have just the elements that the shape says. A row,
 * the last dimension, is contiguous in a or in b, and in the other too or one element. */
static inline bool ek_check_broadcast_to(const ek_node *n, const ek_fmt_broadcast *s, uint8_t dtype, uint8_t to)
{
    uint64_t count = 1;
    for (int d = 0; d < 4; d++) {
        if (!s->dims[d]) return false;
        count = ek_mul64(count, s->dims[d]);
    }
    if (s->a[3] > 1 || s->b[3] > 1 || (s->dims[3] > 1 && !s->a[3] && !s->b[3])) return false;
    const uint64_t a = ek_broadcast_reach(s->dims, s->a), b = ek_broadcast_reach(s->dims, s->b);
    return a && b && ek_check_in(n, 0, dtype, a) && ek_check_in(n, 1, dtype, b) && ek_check_out(n, 0, to, count) &&
           ek_check_taken_over(n, 0, s->dims, s->a) && ek_check_taken_over(n, 1, s->dims, s->b);
}

static inline bool ek_check_broadcast(const ek_node *n, const ek_fmt_broadcast *s, uint8_t dtype)
{
    return ek_check_broadcast_to(n, s, dtype, dtype);
}

/* Where a row starts in out, a and b, in elements. */
typedef struct ek_rows {
    size_t out, a, b;
    uint32_t at[3];
} ek_rows;

/* Go on to the next row; false after the last. */
static inline bool ek_rows_next(ek_rows *r, const ek_fmt_broadcast *s)
{
    r->out += s->dims[3];
    for (int d = 2; d >= 0; d--) {
        if (++r->at[d] < s->dims[d]) {
            r->a += s->a[d];
            r->b += s->b[d];
            return true;
        }
        r->at[d] = 0;
        r->a -= (size_t)(s->dims[d] - 1) * s->a[d];
        r->b -= (size_t)(s->dims[d] - 1) * s->b[d];
    }
    return false;
}

/* Whether a is the one that repeats within a row: kernels repeat only b. */
static inline bool ek_rows_swap(const ek_fmt_broadcast *s)
{
    return s->b[3] && !s->a[3];
}

#endif

/* Resizing: the table of sources of each output row and column, and its check. */
#ifndef EK_RESIZE_H
#define EK_RESIZE_H

#include "ops/heavy_checks.h"

typedef ek_fmt_resize ek_resize;

/* Output index i lies between inputs lo[i] and hi[i], with weight[i] of the latter. */
typedef struct ek_sources {
    const int32_t *lo, *hi, *weight;
} ek_sources;

static inline ek_sources ek_resize_rows(const ek_node *n, const ek_resize *p)
{
    const int32_t *t = ek_blob(n, p->table);
    return (ek_sources){ t, t + p->out_h, t + (size_t)2 * p->out_h };
}

static inline ek_sources ek_resize_columns(const ek_node *n, const ek_resize *p)
{
    const int32_t *t = (const int32_t *)ek_blob(n, p->table) + (size_t)3 * p->out_h;
    return (ek_sources){ t, t + p->out_w, t + (size_t)2 * p->out_w };
}

static inline bool ek_check_sources(ek_sources s, uint32_t out, uint32_t in)
{
    for (uint32_t i = 0; i < out; i++)
        if ((uint32_t)s.lo[i] >= in || (uint32_t)s.hi[i] >= in) return false;
    return true;
}

static inline bool ek_check_resize(const ek_node *n, const ek_resize *p, uint8_t dtype)
{
    const uint64_t entries = ((uint64_t)p->out_h + p->out_w) * 3;
    return p->batch && p->in_h && p->in_w && p->out_h && p->out_w && p->channels && p->linear <= 1 &&
           ek_check_in(n, 0, dtype, ek_size4(p->batch, p->in_h, p->in_w, p->channels)) &&
           ek_check_out(n, 0, dtype, ek_size4(p->batch, p->out_h, p->out_w, p->channels)) &&
           ek_check_blob(n, p->table, entries * sizeof(int32_t), 4) &&
           ek_check_sources(ek_resize_rows(n, p), p->out_h, p->in_h) &&
           ek_check_sources(ek_resize_columns(n, p), p->out_w, p->in_w);
}

static inline void ek_resize_nearest(const ek_node *n, const ek_resize *p, size_t element)
{
    const ek_sources rows = ek_resize_rows(n, p), columns = ek_resize_columns(n, p);
    const size_t pixel = p->channels * element, line = p->in_w * pixel;
    const uint8_t *image = ek_in(n, 0);
    uint8_t *out = ek_out(n, 0);
    for (uint32_t b = 0; b < p->batch; b++, image += p->in_h * line)
        for (uint32_t y = 0; y < p->out_h; y++)
            for (uint32_t x = 0; x < p->out_w; x++, out += pixel)
                memcpy(out, image + (size_t)rows.lo[y] * line + (size_t)columns.lo[x] * pixel, pixel);
}

#endif

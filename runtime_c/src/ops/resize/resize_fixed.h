/* The body of Resize on integers, whose files define
 *     ELEMENT, DTYPE   the elements
 *     WEIGHT_BITS      weights are in 1/2^WEIGHT_BITS; an element times that fits 32 bits
 *     WIDE             an element times the square of that
 */
#ifndef EK_RESIZE_FIXED_H
#define EK_RESIZE_FIXED_H

#include "own.h"
#include "resize.h"

enum { ONE = 1 << WEIGHT_BITS, SHIFT = 2 * WEIGHT_BITS, HALF = 1 << (SHIFT - 1) };

static bool EK_OWN(check_weights)(const int32_t *weight, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (weight[i] < 0 || weight[i] > ONE) return false;
    return true;
}

static ek_status EK_OWN(check)(const ek_node *n)
{
    const ek_resize *p = n->params;
    return ek_check_resize(n, p, DTYPE) && EK_OWN(check_weights)(ek_resize_rows(n, p).weight, p->out_h) &&
                   EK_OWN(check_weights)(ek_resize_columns(n, p).weight, p->out_w)
               ? EK_OK
               : EK_ERR_CORRUPT;
}

static void EK_OWN(linear_row)(const ek_resize *p, ELEMENT *out, const ELEMENT *top, const ELEMENT *bottom, int32_t wy,
                               ek_sources columns)
{
    const size_t c = p->channels;
    for (uint32_t x = 0; x < p->out_w; x++, out += c) {
        const size_t lo = (size_t)columns.lo[x] * c, hi = (size_t)columns.hi[x] * c;
        const int32_t wx = columns.weight[x];
        for (size_t j = 0; j < c; j++) {
            const int32_t t = (ONE - wx) * top[lo + j] + wx * top[hi + j];
            const int32_t b = (ONE - wx) * bottom[lo + j] + wx * bottom[hi + j];
            out[j] = (ELEMENT)(((WIDE)(ONE - wy) * t + (WIDE)wy * b + HALF) >> SHIFT);
        }
    }
}

static ek_status EK_OWN(run)(const ek_node *n)
{
    const ek_resize *p = n->params;
    if (!p->linear) {
        ek_resize_nearest(n, p, sizeof(ELEMENT));
        return EK_OK;
    }
    const ek_sources rows = ek_resize_rows(n, p), columns = ek_resize_columns(n, p);
    const size_t in_line = (size_t)p->in_w * p->channels, out_line = (size_t)p->out_w * p->channels;
    const ELEMENT *image = ek_in(n, 0);
    ELEMENT *out = ek_out(n, 0);
    for (uint32_t b = 0; b < p->batch; b++, image += p->in_h * in_line)
        for (uint32_t y = 0; y < p->out_h; y++, out += out_line)
            EK_OWN(linear_row)(p, out, image + (size_t)rows.lo[y] * in_line, image + (size_t)rows.hi[y] * in_line,
                               rows.weight[y], columns);
    return EK_OK;
}

#endif

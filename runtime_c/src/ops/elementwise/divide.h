/* The body of Binary on integers, which is Div, whose files define ELEMENT, DTYPE and EK_BODY before this. */
#ifndef EK_DIVIDE_H
#define EK_DIVIDE_H

#include "broadcast.h"
#include "own.h"

/* Input 2. Any numbers are harmless: sums wrap, and shifts are taken modulo 32. */
typedef struct quotient {
    int32_t multiplier, shift, a_zero, b_zero, output_zero;
} quotient;

enum { NUMBERS = 5 };

static ek_status EK_OWN(check)(const ek_node *n)
{
    const ek_fmt_binary *p = n->params;
    const ek_fmt_tensor_type *type = ek_out_type(n, 0);
    const bool range = p->qmin >= -32768 && p->qmin <= p->qmax && p->qmax <= 32767;
    const bool fits = type->dtype != EK_DTYPE_INT8 || (ek_is_s8(p->qmin) && ek_is_s8(p->qmax));
    return range && fits && p->fn == EK_BINARY_FN_DIV && ek_check_in(n, 2, EK_DTYPE_INT32, NUMBERS) &&
                   ek_check_broadcast(n, &p->shape, DTYPE)
               ? EK_OK
               : EK_ERR_CORRUPT;
}

static inline uint32_t EK_OWN(magnitude)(int32_t x)
{
    return x < 0 ? 0U - (uint32_t)x : (uint32_t)x;
}

static inline ELEMENT EK_OWN(divide)(int32_t a, int32_t b, const quotient *t, const ek_fmt_binary *p)
{
    const int32_t x = (int32_t)((uint32_t)a - (uint32_t)t->a_zero), y = (int32_t)((uint32_t)b - (uint32_t)t->b_zero);
    const uint32_t divisor = EK_OWN(magnitude)(y) << ((uint32_t)t->shift & 31);
    if (!x) return (ELEMENT)(t->output_zero < p->qmin ? p->qmin : t->output_zero > p->qmax ? p->qmax : t->output_zero);
    const bool below = (x < 0) != (y < 0);
    if (!divisor) return (ELEMENT)(below ? p->qmin : p->qmax);
    const uint32_t product = EK_OWN(magnitude)(x) * (uint32_t)t->multiplier;
    const uint32_t rounded = (product + divisor / 2) / divisor;
    /* Beyond that all are clamped; the sum stays in 32 bits. */
    const int32_t size = rounded < 1 << 17 ? (int32_t)rounded : 1 << 17;
    const int32_t q = (int32_t)((uint32_t)t->output_zero + (uint32_t)(below ? -size : size));
    return (ELEMENT)(q < p->qmin ? p->qmin : q > p->qmax ? p->qmax : q);
}

static ek_status EK_OWN(run)(const ek_node *n)
{
    const ek_fmt_binary *p = n->params;
    const ek_fmt_broadcast *s = &p->shape;
    const ELEMENT *a = ek_in(n, 0), *b = ek_in(n, 1);
    ELEMENT *out = ek_out(n, 0);
    quotient t;
    memcpy(&t, ek_in(n, 2), sizeof t);
    ek_rows r = { 0 };
    do {
        for (size_t i = 0; i < s->dims[3]; i++)
            out[r.out + i] = EK_OWN(divide)(a[r.a + i * s->a[3]], b[r.b + i * s->b[3]], &t, p);
    } while (ek_rows_next(&r, s));
    return EK_OK;
}

#endif

/* `run` of operators of two inputs that broadcast in a kernel, which repeats its second input alone. Their files
 * define ELEMENT, PARAMS, EK_BODY and TERMS, what the kernel gets, before this, and the functions declared first.
 */
#ifndef EK_BROADCAST_KERNEL_H
#define EK_BROADCAST_KERNEL_H

#include "own.h"

static void EK_OWN(row)(const ek_kernels *kernels, ELEMENT *out, const ELEMENT *a, const ELEMENT *b, size_t b_step,
                        size_t count, const TERMS *t);
static TERMS EK_OWN(terms_of)(const PARAMS *p, bool swap);
static ek_status EK_OWN(run)(const ek_node *n)
{
    const PARAMS *p = n->params;
    const ek_fmt_broadcast *s = &p->shape;
    const bool swap = ek_rows_swap(s);
    const TERMS t = EK_OWN(terms_of)(p, swap);
    const ELEMENT *a = ek_in(n, 0), *b = ek_in(n, 1);
    ELEMENT *out = ek_out(n, 0);
    ek_rows r = { 0 };
    do {
        const ELEMENT *x = a + r.a, *y = b + r.b;
        EK_OWN(row)(n->kernels, out + r.out, swap ? y : x, swap ? x : y, s->a[3] & s->b[3], s->dims[3], &t);
    } while (ek_rows_next(&r, s));
    return EK_OK;
}

#endif

/* `run` of operators of two inputs that broadcast, whose files define ELEMENT, PARAMS and EK_BODY before this, and one
 * row, p->shape.dims[3] elements that lie p->shape.a[3] and p->shape.b[3] apart in the inputs.
 */
#ifndef EK_BROADCAST_RUN_H
#define EK_BROADCAST_RUN_H

#include "own.h"

static void EK_OWN(row)(ELEMENT *out, const ELEMENT *a, const ELEMENT *b, const PARAMS *p);
static ek_status EK_OWN(run)(const ek_node *n)
{
    const PARAMS *p = n->params;
    const ELEMENT *a = ek_in(n, 0), *b = ek_in(n, 1);
    ELEMENT *out = ek_out(n, 0);
    ek_rows r = { 0 };
    do {
        EK_OWN(row)(out + r.out, a + r.a, b + r.b, p);
    } while (ek_rows_next(&r, &p->shape));
    return EK_OK;
}

#endif

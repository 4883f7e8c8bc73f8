/* What PRelu of int8 and of int16 check in common; their files define DTYPE and LIMIT, of multipliers. */
#ifndef EK_PRELU_H
#define EK_PRELU_H

#include "own.h"
#include "ops/axis.h"

static bool EK_OWN(multiplier_fits)(int32_t multiplier)
{
    return multiplier >= -(LIMIT) && multiplier <= (LIMIT);
}

static bool EK_OWN(check_body)(const ek_node *n, const ek_fmt_prelu *p)
{
    const ek_fmt_axis_view *v = &p->view;
    if (!ek_check_view(n, v, DTYPE) || !ek_check_out(n, 0, DTYPE, ek_mul64(ek_mul64(v->outer, v->axis), v->inner)) ||
        !ek_check_blob(n, p->table, (uint64_t)v->axis * sizeof(int32_t), 4) || p->shift < 1 || p->shift > 30)
        return false;
    const int32_t *slopes = ek_blob(n, p->table);
    for (uint32_t i = 0; i < v->axis; i++)
        if (!EK_OWN(multiplier_fits)(slopes[i])) return false;
    return EK_OWN(multiplier_fits)(p->multiplier);
}

#endif

/* The body of AvgPool2d on integers, whose files define ELEMENT, TOTAL, the type of sums, and SHIFT,
 * that of the table's shifts, EK_BODY before this, and the functions that are declared first.
 */
#ifndef EK_AVG_POOL2D_FIXED_H
#define EK_AVG_POOL2D_FIXED_H

#include "own.h"
#include "pool.h"
#include "pool_run.h"

static bool EK_OWN(entry_fits)(const ek_fmt_avg_pool2d *p, uint64_t count, int32_t multiplier, SHIFT shift);
static void EK_OWN(add_up)(const ek_node *n, TOTAL *acc, const ELEMENT *in, size_t step, size_t count, size_t c);
static void EK_OWN(divide)(const ek_fmt_avg_pool2d *p, ELEMENT *out, const TOTAL *acc, uint32_t count,
                           int32_t multiplier, SHIFT shift);

/* Blob: int32 multiplier[counts], SHIFT shift[counts]; of windows of any one count, or of 1, 2, ... taps. */
static bool EK_OWN(check_table)(const ek_node *n)
{
    const ek_fmt_avg_pool2d *p = n->params;
    const uint64_t most = ek_pool_most(&p->geometry);
    if ((p->counts != 1 && p->counts != most) || !ek_check_blob(n, p->table, (uint64_t)p->counts * 5, 4)) return false;
    const int32_t *multiplier = ek_blob(n, p->table);
    const SHIFT *shift = (const SHIFT *)(multiplier + p->counts);
    for (uint32_t i = 0; i < p->counts; i++)
        if (!EK_OWN(entry_fits)(p, p->counts == 1 ? most : i + 1, multiplier[i], shift[i])) return false;
    return true;
}

static uint64_t EK_OWN(scratch)(const ek_node *n)
{
    const ek_fmt_avg_pool2d *p = n->params;
    return (uint64_t)p->geometry.in_c * sizeof(TOTAL);
}

static void EK_OWN(window)(const ek_node *n, ELEMENT *out, const ELEMENT *image, ek_span rows, ek_span columns)
{
    const ek_fmt_avg_pool2d *p = n->params;
    const size_t c = p->geometry.in_c;
    TOTAL *acc = n->scratch;
    const ek_runs r = ek_pool_runs(&p->geometry, rows, columns);
    memset(acc, 0, c * sizeof *acc);
    for (size_t i = 0; i < r.runs; i++) EK_OWN(add_up)(n, acc, image + r.first + i * r.run_step, r.step, r.count, c);

    const int32_t *multiplier = ek_blob(n, p->table);
    const SHIFT *shift = (const SHIFT *)(multiplier + p->counts);
    const uint32_t count = rows.count * columns.count;
    const uint32_t entry = p->counts == 1 || count == 0 ? 0 : count - 1;
    EK_OWN(divide)(p, out, acc, count, multiplier[entry], shift[entry]);
}

#endif

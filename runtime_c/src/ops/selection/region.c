/* Region: the borders of operators that may not run, or run again and again. What lies between them is proved by
 * model/regions.h. */
#include "op.h"

#ifndef EK_NO_REGIONS
enum { REGION_TRIPS = 0, REGION_CONDITION = 1, REGION_OPERANDS = 2 };

static bool region_optional(const ek_node *n, uint32_t i, uint8_t dtype)
{
    return !ek_in_tensor(n, i) || ek_check_in(n, i, dtype, 1);
}

static bool region_is_loop(const ek_fmt_region *p)
{
    return p->fn == EK_REGION_FN_LOOP || p->fn == EK_REGION_FN_END_LOOP;
}

static bool region_of_loop(const ek_node *n)
{
    const ek_fmt_region *p = n->params;
    return n->op->inputs >= REGION_OPERANDS && region_optional(n, REGION_TRIPS, EK_DTYPE_INT32) &&
           region_optional(n, REGION_CONDITION, EK_DTYPE_UINT8) && n->op->outputs == 1 &&
           ek_check_out(n, 0, EK_DTYPE_INT32, 1) && ek_out_type(n, 0)->place == EK_PLACE_ARENA && p->most &&
           p->most <= INT32_MAX;
}

static ek_status region_check(const ek_node *n)
{
    const ek_fmt_region *p = n->params;
    bool fits = p->strict <= 1 && p->fn <= EK_REGION_FN_END_LOOP;
    if (region_is_loop(p)) {
        fits = fits && region_of_loop(n);
    } else if (p->fn == EK_REGION_FN_IF) {
        fits = fits && n->op->inputs == 1 && ek_check_in(n, 0, EK_DTYPE_UINT8, 1);
    } else {
        fits = fits && n->op->inputs == 0;
    }
    return fits ? EK_OK : EK_ERR_CORRUPT;
}

/* Whether a Loop that has done `done` steps goes on; EK_ERR_INDEX where it wants to and must not. */
static ek_status region_goes_on(const ek_node *n, int32_t done, bool *on)
{
    const ek_fmt_region *p = n->params;
    const bool counted = ek_in_tensor(n, REGION_TRIPS) != NULL, asked = ek_in_tensor(n, REGION_CONDITION) != NULL;
    const bool over = (uint32_t)done >= p->most;
    *on = !counted || done < *(const int32_t *)ek_in(n, REGION_TRIPS);
    if (*on && asked) *on = *(const uint8_t *)ek_in(n, REGION_CONDITION) != 0;
    const bool stops = *on && over && p->strict;
    *on = *on && !over;
    return stops ? EK_ERR_INDEX : EK_OK;
}

static ek_status region_run_loop(const ek_node *n)
{
    const ek_fmt_region *p = n->params;
    const bool begins = p->fn == EK_REGION_FN_LOOP;
    int32_t *done = ek_out(n, 0);
    bool on;
    *done = begins ? 0 : *done + 1;
    const ek_status status = region_goes_on(n, *done, &on);
    if (begins && !on) *n->jump = p->length;
    if (!begins && on) *n->jump = 0u - p->back;
    return status;
}

static ek_status region_run(const ek_node *n)
{
    const ek_fmt_region *p = n->params;
    if (region_is_loop(p)) return region_run_loop(n);
    const bool other = p->fn == EK_REGION_FN_IF && !*(const uint8_t *)ek_in(n, 0);
    if (other || p->fn == EK_REGION_FN_ELSE) *n->jump = p->length;
    return EK_OK;
}

const ek_op ek_op_region = {
    .inputs_min = 0, .inputs_max = UINT8_MAX, .outputs = UINT8_MAX, .check = region_check, .run = region_run
};
#endif

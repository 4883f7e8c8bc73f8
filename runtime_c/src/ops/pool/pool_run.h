/* `run` of the pooling operators, whose parameters start with the geometry and whose files define
 * ELEMENT and EK_BODY before this, and one window.
 */
#ifndef EK_POOL_RUN_H
#define EK_POOL_RUN_H

#include "own.h"

static void EK_OWN(window)(const ek_node *n, ELEMENT *out, const ELEMENT *image, ek_span rows, ek_span columns);
static ek_status EK_OWN(run)(const ek_node *n)
{
    const ek_fmt_conv_geometry *g = n->params;
    const ELEMENT *image = ek_in(n, 0);
    ELEMENT *out = ek_out(n, 0);
    for (uint32_t b = 0; b < g->batch; b++, image += (size_t)g->in_h * g->in_w * g->in_c) {
        for (uint32_t oy = 0; oy < g->out_h; oy++) {
            const ek_span rows = ek_pool_rows(g, oy);
            for (uint32_t ox = 0; ox < g->out_w; ox++, out += g->in_c)
                EK_OWN(window)(n, out, image, rows, ek_pool_columns(g, ox));
        }
    }
    return EK_OK;
}

#endif

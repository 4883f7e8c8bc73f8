/* LutS16: a table of 513 results, every 128 steps, and straight lines between. */
#include "../op.h"

enum { POINTS = 513, STEP_BITS = 7 };

static ek_status check(const ek_node *n)
{
    const ek_fmt_lut_s16 *p = n->params;
    const bool fits = ek_check_in(n, 0, EK_DTYPE_INT16, p->count) && ek_check_out(n, 0, EK_DTYPE_INT16, p->count) &&
                      ek_check_blob(n, p->table, POINTS * sizeof(int16_t), 2);
    return fits ? EK_OK : EK_ERR_CORRUPT;
}

static ek_status run(const ek_node *n)
{
    const ek_fmt_lut_s16 *p = n->params;
    const int16_t *table = ek_blob(n, p->table), *in = ek_in(n, 0);
    int16_t *out = ek_out(n, 0);
    const size_t count = p->count;
    for (size_t i = 0; i < count; i++) {
        const uint32_t u = (uint32_t)(in[i] + 32768);
        const int16_t *t = table + (u >> STEP_BITS);
        const int32_t f = (int32_t)(u & ((1 << STEP_BITS) - 1)), half = 1 << (STEP_BITS - 1);
        out[i] = (int16_t)(t[0] + (((t[1] - t[0]) * f + half) >> STEP_BITS));
    }
    return EK_OK;
}

const ek_op ek_op_lut_s16 = { .inputs_min = 1, .inputs_max = 1, .outputs = 1, .check = check, .run = run };

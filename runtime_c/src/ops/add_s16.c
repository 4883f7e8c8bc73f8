/* AddS16: int16 Add and Sub, broadcast. */
#include "broadcast.h"

#define ELEMENT int16_t

typedef ek_fmt_add_s16 params;

static ek_status check(const ek_node *n)
{
    const params *p = n->params;
    const int64_t limit = 1 << 23;
    const bool multipliers =
        p->a_multiplier <= limit && p->a_multiplier >= -limit && p->b_multiplier <= limit && p->b_multiplier >= -limit;
    const bool range = p->shift >= 1 && p->shift <= 40 && p->qmin <= p->qmax;
    return multipliers && range && ek_check_broadcast(n, &p->shape, EK_DTYPE_INT16) ? EK_OK : EK_ERR_CORRUPT;
}

static void row(int16_t *out, const int16_t *a, const int16_t *b, const params *p)
{
    const size_t count = p->shape.dims[3], a_step = p->shape.a[3], b_step = p->shape.b[3];
    const int32_t ma = p->a_multiplier, mb = p->b_multiplier, shift = p->shift;
    const int64_t half = INT64_C(1) << (shift - 1), qmin = p->qmin, qmax = p->qmax;
    for (size_t i = 0; i < count; i++) {
        const int64_t q = ((int64_t)a[i * a_step] * ma + (int64_t)b[i * b_step] * mb + half) >> shift;
        out[i] = (int16_t)(q < qmin ? qmin : q > qmax ? qmax : q);
    }
}

#include "broadcast_run.h"

const ek_op ek_op_add_s16 = { .inputs_min = 2, .inputs_max = 2, .outputs = 1, .check = check, .run = run };

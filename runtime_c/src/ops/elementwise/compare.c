/* Compare: two tensors of one element type, broadcast, to uint8 holding 0 or 1. */
#include "broadcast.h"

/* A loop for each function and element type. With NaN all are false, as in IEEE. */
#define ROWS(name, type)                                                                                            \
    static void name(uint8_t *out, const void *in_a, const void *in_b, const ek_fmt_broadcast *s, const ek_rows *r, \
                     uint16_t fn)                                                                                   \
    {                                                                                                               \
        const type *a = (const type *)in_a + r->a, *b = (const type *)in_b + r->b;                                  \
        const size_t count = s->dims[3], a_step = s->a[3], b_step = s->b[3];                                        \
        switch (fn) {                                                                                               \
        case EK_COMPARE_FN_EQUAL:                                                                                   \
            for (size_t i = 0; i < count; i++) out[i] = a[i * a_step] == b[i * b_step];                             \
            break;                                                                                                  \
        case EK_COMPARE_FN_LESS:                                                                                    \
            for (size_t i = 0; i < count; i++) out[i] = a[i * a_step] < b[i * b_step];                              \
            break;                                                                                                  \
        default:                                                                                                    \
            for (size_t i = 0; i < count; i++) out[i] = a[i * a_step] <= b[i * b_step];                             \
        }                                                                                                           \
    }

ROWS(of_f32, float)
ROWS(of_s32, int32_t)
ROWS(of_u8, uint8_t)

static void of_bool(uint8_t *out, const void *in_a, const void *in_b, const ek_fmt_broadcast *s, const ek_rows *r,
                    uint16_t fn)
{
    const uint8_t *a = (const uint8_t *)in_a + r->a, *b = (const uint8_t *)in_b + r->b;
    for (size_t i = 0; i < s->dims[3]; i++) {
        const bool x = a[i * s->a[3]] != 0, y = b[i * s->b[3]] != 0;
        out[i] = fn == EK_COMPARE_FN_AND ? x && y : fn == EK_COMPARE_FN_OR ? x || y : x != y;
    }
}

static ek_status compare_check(const ek_node *n)
{
    const ek_fmt_compare *p = n->params;
    const bool orders =
        p->fn <= EK_COMPARE_FN_LESS_OR_EQUAL && (p->element == EK_DTYPE_FLOAT32 || p->element == EK_DTYPE_INT32);
    const bool known = orders || (p->fn <= EK_COMPARE_FN_XOR && p->element == EK_DTYPE_UINT8);
    const bool fits = known && ek_check_broadcast_to(n, &p->shape, (uint8_t)p->element, EK_DTYPE_UINT8);
    return fits ? EK_OK : EK_ERR_CORRUPT;
}

static ek_status compare_run(const ek_node *n)
{
    typedef void rows_fn(uint8_t *, const void *, const void *, const ek_fmt_broadcast *, const ek_rows *, uint16_t);
    const ek_fmt_compare *p = n->params;
    rows_fn *const rows = p->fn > EK_COMPARE_FN_LESS_OR_EQUAL ? of_bool
                          : p->element == EK_DTYPE_FLOAT32    ? of_f32
                          : p->element == EK_DTYPE_INT32      ? of_s32
                                                              : of_u8;
    const void *a = ek_in(n, 0), *b = ek_in(n, 1);
    uint8_t *out = ek_out(n, 0);
    ek_rows r = { 0 };
    do {
        rows(out + r.out, a, b, &p->shape, &r, p->fn);
    } while (ek_rows_next(&r, &p->shape));
    return EK_OK;
}

const ek_op ek_op_compare = {
    .inputs_min = 2, .inputs_max = 2, .outputs = 1, .check = compare_check, .run = compare_run
};

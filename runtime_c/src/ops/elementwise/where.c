/* Where: an element of a or of b, as a condition says; all three broadcast. */
#include "broadcast.h"

static ek_status where_check(const ek_node *n)
{
    const ek_fmt_where *p = n->params;
    const uint8_t dtype = ek_out_type(n, 0)->dtype;
    uint64_t count = 1;
    for (int d = 0; d < 4; d++) {
        if (!p->dims[d]) return EK_ERR_CORRUPT;
        count = ek_mul64(count, p->dims[d]);
    }
    const uint32_t *steps[3] = { p->condition, p->a, p->b };
    for (uint32_t i = 0; i < 3; i++) {
        const uint64_t reach = ek_broadcast_reach(p->dims, steps[i]);
        if (!reach || !ek_check_in(n, i, i ? dtype : EK_DTYPE_UINT8, reach) ||
            !ek_check_taken_over(n, i, p->dims, steps[i]))
            return EK_ERR_CORRUPT;
    }
    const bool fits = p->element_bytes == ek_dtype_bytes(dtype) && ek_check_out(n, 0, dtype, count);
    return fits ? EK_OK : EK_ERR_CORRUPT;
}

#define ROW(name, type)                                                                                          \
    static void name(void *out, const uint8_t *c, const void *a, const void *b, size_t at, const size_t from[3], \
                     const ek_fmt_where *p)                                                                      \
    {                                                                                                            \
        const type *x = (const type *)a + from[1], *y = (const type *)b + from[2];                               \
        type *to = (type *)out + at;                                                                             \
        for (size_t i = 0; i < p->dims[3]; i++)                                                                  \
            to[i] = c[from[0] + i * p->condition[3]] ? x[i * p->a[3]] : y[i * p->b[3]];                          \
    }

ROW(pick1, uint8_t)
ROW(pick2, uint16_t)
ROW(pick4, uint32_t)

static ek_status where_run(const ek_node *n)
{
    const ek_fmt_where *p = n->params;
    const uint32_t *d = p->dims, *steps[3] = { p->condition, p->a, p->b };
    size_t at = 0, from[3];
    for (size_t i = 0; i < d[0]; i++) {
        for (size_t j = 0; j < d[1]; j++) {
            for (size_t k = 0; k < d[2]; k++, at += d[3]) {
                for (int s = 0; s < 3; s++) from[s] = i * steps[s][0] + j * steps[s][1] + k * steps[s][2];
                if (p->element_bytes == 1)
                    pick1(ek_out(n, 0), ek_in(n, 0), ek_in(n, 1), ek_in(n, 2), at, from, p);
                else if (p->element_bytes == 2)
                    pick2(ek_out(n, 0), ek_in(n, 0), ek_in(n, 1), ek_in(n, 2), at, from, p);
                else
                    pick4(ek_out(n, 0), ek_in(n, 0), ek_in(n, 1), ek_in(n, 2), at, from, p);
            }
        }
    }
    return EK_OK;
}

const ek_op ek_op_where = { .inputs_min = 3,
                            .inputs_max = 3,
                            .outputs = 1,
                            .in_place = EK_INPUT_1 | EK_INPUT_2,
                            .check = where_check,
                            .run = where_run };

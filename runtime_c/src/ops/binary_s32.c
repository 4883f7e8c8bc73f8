/* BinaryS32: functions of two int32 tensors, broadcast, modulo 2^32. */
#include "broadcast.h"

typedef int32_t pair_fn(int32_t x, int32_t y);

static int32_t add(int32_t x, int32_t y)
{
    return (int32_t)((uint32_t)x + (uint32_t)y);
}

static int32_t sub(int32_t x, int32_t y)
{
    return (int32_t)((uint32_t)x - (uint32_t)y);
}

static int32_t mul(int32_t x, int32_t y)
{
    return (int32_t)((uint32_t)x * (uint32_t)y);
}

/* Towards zero; by zero it is 0, and INT32_MIN / -1 wraps. */
static int32_t divide(int32_t x, int32_t y)
{
    return y == 0 ? 0 : y == -1 ? sub(0, x) : x / y;
}

static int32_t minimum(int32_t x, int32_t y)
{
    return x < y ? x : y;
}

static int32_t maximum(int32_t x, int32_t y)
{
    return x > y ? x : y;
}

static pair_fn *const pairs[] = {
    [EK_BINARY_FN_ADD] = add,    [EK_BINARY_FN_SUB] = sub,     [EK_BINARY_FN_MUL] = mul,
    [EK_BINARY_FN_DIV] = divide, [EK_BINARY_FN_MIN] = minimum, [EK_BINARY_FN_MAX] = maximum,
};

static ek_status check(const ek_node *n)
{
    const ek_fmt_binary_s32 *p = n->params;
    const bool known = p->fn < sizeof(pairs) / sizeof(pairs[0]);
    return known && ek_check_broadcast(n, &p->shape, EK_DTYPE_INT32) ? EK_OK : EK_ERR_CORRUPT;
}

static ek_status run(const ek_node *n)
{
    const ek_fmt_binary_s32 *p = n->params;
    const ek_fmt_broadcast *s = &p->shape;
    const int32_t *a = ek_in(n, 0), *b = ek_in(n, 1);
    int32_t *out = ek_out(n, 0);
    ek_rows r = { 0 };
    do {
        for (size_t i = 0; i < s->dims[3]; i++)
            out[r.out + i] = pairs[p->fn](a[r.a + i * s->a[3]], b[r.b + i * s->b[3]]);
    } while (ek_rows_next(&r, s));
    return EK_OK;
}

const ek_op ek_op_binary_s32 = { .inputs_min = 2, .inputs_max = 2, .outputs = 1, .check = check, .run = run };

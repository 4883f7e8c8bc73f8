/* Functions of two int32 tensors, broadcast, modulo 2^32. */
#include "broadcast.h"

#define ELEMENT int32_t

typedef ek_fmt_binary params;

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
    const params *p = n->params;
    const bool known = p->fn < sizeof(pairs) / sizeof(pairs[0]);
    const bool clamped = p->qmin != INT32_MIN || p->qmax != INT32_MAX;
    return known && !clamped && ek_check_broadcast(n, &p->shape, EK_DTYPE_INT32) ? EK_OK : EK_ERR_CORRUPT;
}

static void row(int32_t *out, const int32_t *a, const int32_t *b, const params *p)
{
    const ek_fmt_broadcast *s = &p->shape;
    for (size_t i = 0; i < s->dims[3]; i++) out[i] = pairs[p->fn](a[i * s->a[3]], b[i * s->b[3]]);
}

#include "broadcast_run.h"

const ek_op ek_op_binary_s32 = {
    .inputs_min = 2, .inputs_max = 2, .outputs = 1, .in_place = EK_INPUT_0 | EK_INPUT_1, .check = check, .run = run
};

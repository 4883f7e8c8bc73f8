/* Functions of two int32 tensors, broadcast, modulo 2^32. */
#include "broadcast.h"

#define ELEMENT int32_t
#define PARAMS  ek_fmt_binary
#define EK_BODY binary_s32
#include "broadcast_run.h"

typedef int32_t pair_s32_fn(int32_t x, int32_t y);

static int32_t binary_s32_add(int32_t x, int32_t y)
{
    return (int32_t)((uint32_t)x + (uint32_t)y);
}

static int32_t binary_s32_sub(int32_t x, int32_t y)
{
    return (int32_t)((uint32_t)x - (uint32_t)y);
}

static int32_t binary_s32_mul(int32_t x, int32_t y)
{
    return (int32_t)((uint32_t)x * (uint32_t)y);
}

/* Towards zero; by zero it is 0, and INT32_MIN / -1 wraps. */
static int32_t binary_s32_divide(int32_t x, int32_t y)
{
    return y == 0 ? 0 : y == -1 ? binary_s32_sub(0, x) : x / y;
}

static int32_t binary_s32_minimum(int32_t x, int32_t y)
{
    return x < y ? x : y;
}

static int32_t binary_s32_maximum(int32_t x, int32_t y)
{
    return x > y ? x : y;
}

static pair_s32_fn *const binary_s32_pairs[] = {
    [EK_BINARY_FN_ADD] = binary_s32_add,     [EK_BINARY_FN_SUB] = binary_s32_sub,
    [EK_BINARY_FN_MUL] = binary_s32_mul,     [EK_BINARY_FN_DIV] = binary_s32_divide,
    [EK_BINARY_FN_MIN] = binary_s32_minimum, [EK_BINARY_FN_MAX] = binary_s32_maximum,
};

static ek_status binary_s32_check(const ek_node *n)
{
    const ek_fmt_binary *p = n->params;
    const bool known = p->fn < sizeof(binary_s32_pairs) / sizeof(binary_s32_pairs[0]);
    const bool clamped = p->qmin != INT32_MIN || p->qmax != INT32_MAX;
    return known && !clamped && ek_check_broadcast(n, &p->shape, EK_DTYPE_INT32) ? EK_OK : EK_ERR_CORRUPT;
}

static void binary_s32_row(int32_t *out, const int32_t *a, const int32_t *b, const ek_fmt_binary *p)
{
    const ek_fmt_broadcast *s = &p->shape;
    for (size_t i = 0; i < s->dims[3]; i++) out[i] = binary_s32_pairs[p->fn](a[i * s->a[3]], b[i * s->b[3]]);
}

const ek_op ek_op_binary_s32 = { .inputs_min = 2,
                                 .inputs_max = 2,
                                 .outputs = 1,
                                 .in_place = EK_INPUT_0 | EK_INPUT_1,
                                 .check = binary_s32_check,
                                 .run = EK_OWN(run) };

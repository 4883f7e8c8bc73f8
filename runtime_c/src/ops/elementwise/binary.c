/* Functions of two tensors of 64 bits, broadcast. Integers wrap; comparisons give 1 or 0. Built for s64, u64 and f64.
 */
#include <math.h>

#include "broadcast.h"
#include "element.h"
#include "power_u64.h"

#define NUMBER_s64 int64_t
#define NUMBER_u64 uint64_t
#define NUMBER_f64 double
/* What sums and products are computed in, modulo 2^64. */
#define MODULAR_s64 uint64_t
#define MODULAR_u64 uint64_t
#define MODULAR_f64 double

#define ELEMENT EK_TYPED(NUMBER)
#define PARAMS  ek_fmt_binary
#define EK_BODY EK_TYPED(binary)
#include "broadcast_run.h"

enum {
    dtype_s64 = EK_DTYPE_INT64,
    dtype_u64 = EK_DTYPE_UINT64,
    dtype_f64 = EK_DTYPE_FLOAT64,
};

typedef EK_TYPED(NUMBER) number;
typedef EK_TYPED(MODULAR) modular;

typedef number pair_fn(number x, number y);

#define PAIR(name, expression)                     \
    static number EK_OWN(name)(number x, number y) \
    {                                              \
        return (number)(expression);               \
    }

PAIR(add, (modular)x + (modular)y)
PAIR(sub, (modular)x - (modular)y)
PAIR(mul, (modular)x *(modular)y)
/* With NaN in either it is NaN, as in ONNX; x != x of no integer. */
PAIR(minimum, x < y || x != x ? x : y)
PAIR(maximum, x > y || x != x ? x : y)
PAIR(less, x < y)
PAIR(less_or_equal, x <= y)
PAIR(equal, x == y)

/* Of integers towards zero; by zero it is 0, and what does not fit wraps. */
#define DIVIDE_s64 y == 0 ? 0 : y == -1 ? (number)(0 - (modular)x) : x / y
#define DIVIDE_u64 y == 0 ? 0 : x / y
#define DIVIDE_f64 x / y
PAIR(divide, EK_TYPED(DIVIDE))

/* To a negative power integers are 0, but for 1 and -1. */
#define POWER_s64 \
    y >= 0 ? (number)ek_power_u64((uint64_t)x, (uint64_t)y) : x == 1 || (x == -1 && y % 2 == 0) ? 1 : x == -1 ? -1 : 0
#define POWER_u64 ek_power_u64(x, y)
#define POWER_f64 pow(x, y)
PAIR(power, EK_TYPED(POWER))

static pair_fn *const binary_pairs[] = {
    [EK_BINARY_FN_ADD] = EK_OWN(add),
    [EK_BINARY_FN_SUB] = EK_OWN(sub),
    [EK_BINARY_FN_MUL] = EK_OWN(mul),
    [EK_BINARY_FN_DIV] = EK_OWN(divide),
    [EK_BINARY_FN_MIN] = EK_OWN(minimum),
    [EK_BINARY_FN_MAX] = EK_OWN(maximum),
    [EK_BINARY_FN_POW] = EK_OWN(power),
    [EK_BINARY_FN_LESS] = EK_OWN(less),
    [EK_BINARY_FN_LESS_OR_EQUAL] = EK_OWN(less_or_equal),
    [EK_BINARY_FN_EQUAL] = EK_OWN(equal),
};

static ek_status binary_check(const ek_node *n)
{
    const ek_fmt_binary *p = n->params;
    const bool known = p->fn < sizeof(binary_pairs) / sizeof(binary_pairs[0]) && p->fn != EK_BINARY_FN_PRELU;
    return known && !p->qmin && !p->qmax && ek_check_broadcast(n, &p->shape, EK_TYPED(dtype)) ? EK_OK : EK_ERR_CORRUPT;
}

static void EK_OWN(row)(number *out, const number *a, const number *b, const ek_fmt_binary *p)
{
    const ek_fmt_broadcast *s = &p->shape;
    for (size_t i = 0; i < s->dims[3]; i++) out[i] = binary_pairs[p->fn](a[i * s->a[3]], b[i * s->b[3]]);
}

const ek_op EK_TYPED(ek_op_binary) = { .inputs_min = 2,
                                       .inputs_max = 2,
                                       .outputs = 1,
                                       .in_place = EK_INPUT_0 | EK_INPUT_1,
                                       .check = binary_check,
                                       .run = EK_OWN(run) };

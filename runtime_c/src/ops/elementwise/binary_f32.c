/* Functions of two float tensors, broadcast, with a fused clamp. */
#include <math.h>

#include "broadcast.h"
#include "clamp_f32.h"

#define ELEMENT float
#define PARAMS  ek_fmt_binary
#define EK_BODY binary_f32
#include "broadcast_run.h"

typedef void row_fn(float *out, const float *a, const float *b, const ek_fmt_binary *p);

/* A loop for each way to repeat, so that each is vectorized. */
#define ROW(name, expression)                                                            \
    static void name(float *out, const float *a, const float *b, const ek_fmt_binary *p) \
    {                                                                                    \
        const size_t count = p->shape.dims[3];                                           \
        const float lo = ek_f32(p->qmin), hi = ek_f32(p->qmax);                          \
        if (p->shape.a[3] && p->shape.b[3]) {                                            \
            EK_ELEMENTWISE                                                               \
            for (size_t i = 0; i < count; i++) {                                         \
                const float x = a[i], y = b[i];                                          \
                out[i] = ek_clamp_f32(expression, lo, hi);                               \
            }                                                                            \
        } else if (p->shape.a[3]) {                                                      \
            const float y = b[0];                                                        \
            EK_ELEMENTWISE                                                               \
            for (size_t i = 0; i < count; i++) {                                         \
                const float x = a[i];                                                    \
                out[i] = ek_clamp_f32(expression, lo, hi);                               \
            }                                                                            \
        } else {                                                                         \
            const float x = a[0];                                                        \
            EK_ELEMENTWISE                                                               \
            for (size_t i = 0; i < count; i++) {                                         \
                const float y = b[i];                                                    \
                out[i] = ek_clamp_f32(expression, lo, hi);                               \
            }                                                                            \
        }                                                                                \
    }

static inline float power(float x, float y)
{
    return y == 2.0f ? x * x : y == 0.5f ? sqrtf(x) : powf(x, y);
}

ROW(add, x + y)
ROW(sub, x - y)
ROW(mul, (x * y))
ROW(divide, x / y)
/* NaN in either gives NaN, as in ONNX. */
ROW(minimum, x < y || x != x ? x : y)
ROW(maximum, x > y || x != x ? x : y)
ROW(power_of, power(x, y))
ROW(prelu, x < 0 ? x * y : x)

static row_fn *const rows[] = {
    [EK_BINARY_FN_ADD] = add,      [EK_BINARY_FN_SUB] = sub,     [EK_BINARY_FN_MUL] = mul,
    [EK_BINARY_FN_DIV] = divide,   [EK_BINARY_FN_MIN] = minimum, [EK_BINARY_FN_MAX] = maximum,
    [EK_BINARY_FN_POW] = power_of, [EK_BINARY_FN_PRELU] = prelu,
};

static ek_status binary_f32_check(const ek_node *n)
{
    const ek_fmt_binary *p = n->params;
    const bool known = p->fn < sizeof(rows) / sizeof(rows[0]);
    return known && ek_check_broadcast(n, &p->shape, EK_DTYPE_FLOAT32) ? EK_OK : EK_ERR_CORRUPT;
}

static void binary_f32_row(float *out, const float *a, const float *b, const ek_fmt_binary *p)
{
    rows[p->fn](out, a, b, p);
}

const ek_op ek_op_binary_f32 = { .inputs_min = 2,
                                 .inputs_max = 2,
                                 .outputs = 1,
                                 .in_place = EK_INPUT_0 | EK_INPUT_1,
                                 .check = binary_f32_check,
                                 .run = EK_OWN(run) };

/* Functions that few models use, of two numbers or of one, broadcast. Built for f32, s32, s64, u64 and f64. */
#include <math.h>

#include "broadcast.h"
#include "element.h"

#define NUMBER_f32 float
#define NUMBER_s32 int32_t
#define NUMBER_s64 int64_t
#define NUMBER_u64 uint64_t
#define NUMBER_f64 double
/* What shifts to the left are computed in. */
#define MODULAR_s32 uint32_t
#define MODULAR_s64 uint64_t
#define MODULAR_u64 uint64_t

#define ELEMENT EK_TYPED(NUMBER)
#define PARAMS  ek_fmt_math
#define EK_BODY EK_TYPED(math)
#include "broadcast_run.h"

/* Whether a number is below 0. */
#define MATH_BELOW_f32(v) ((v) < 0)
#define MATH_BELOW_f64(v) ((v) < 0)
#define MATH_BELOW_s32(v) ((v) < 0)
#define MATH_BELOW_s64(v) ((v) < 0)
#define MATH_BELOW_u64(v) false
#define MATH_IS_BELOW(v)  EK_TYPED(MATH_BELOW)(v)

/* The element types of the numbers, and of the same bytes taken otherwise. */
enum {
    math_dtype_f32 = EK_DTYPE_FLOAT32,
    math_dtype_s32 = EK_DTYPE_INT32,
    math_dtype_s64 = EK_DTYPE_INT64,
    math_dtype_u64 = EK_DTYPE_UINT64,
    math_dtype_f64 = EK_DTYPE_FLOAT64,
    math_bits_f32 = EK_DTYPE_INT32,
    math_bits_s32 = EK_DTYPE_FLOAT32,
    math_bits_s64 = EK_DTYPE_FLOAT64,
    math_bits_u64 = EK_DTYPE_FLOAT64,
    math_bits_f64 = EK_DTYPE_INT64,
};

typedef EK_TYPED(NUMBER) math_number;
typedef math_number math_fn(math_number x, math_number y);

#define MATH_PAIR(name, expression)                               \
    static math_number EK_OWN(name)(math_number x, math_number y) \
    {                                                             \
        return (math_number)(expression);                         \
    }
#define MATH_ONE(name, expression)                                \
    static math_number EK_OWN(name)(math_number x, math_number y) \
    {                                                             \
        (void)y;                                                  \
        return (math_number)(expression);                         \
    }

#define MATH_IS_f32 1
#define MATH_IS_f64 1
#define MATH_IS_s32 0
#define MATH_IS_s64 0
#define MATH_IS_u64 0

#if EK_TYPED(MATH_IS)
#define REST_f32 fmodf(x, y)
#define REST_f64 fmod(x, y)
#define SIGN_f32 copysignf(0, y)
#define SIGN_f64 copysign(0, y)
MATH_PAIR(remainder, EK_TYPED(REST))

static math_number EK_OWN(modulo)(math_number x, math_number y)
{
    const math_number rest = EK_TYPED(REST);
    if (rest == 0) return EK_TYPED(SIGN);
    return MATH_IS_BELOW(rest) != MATH_IS_BELOW(y) ? rest + y : rest;
}
#else
typedef EK_TYPED(MODULAR) math_modular;
enum { math_bits = 8 * sizeof(math_number) };

/* By 0 it is 0, and by -1. */
#define REST_s32 y == 0 || y == -1 ? 0 : x % y
#define REST_s64 REST_s32
#define REST_u64 y == 0 ? 0 : x % y
MATH_PAIR(remainder, EK_TYPED(REST))

static math_number EK_OWN(modulo)(math_number x, math_number y)
{
    const math_number rest = EK_TYPED(REST);
    return rest != 0 && MATH_IS_BELOW(rest) != MATH_IS_BELOW(y) ? rest + y : rest;
}

MATH_PAIR(both, x &y)
MATH_PAIR(either, x | y)
MATH_PAIR(differ, x ^ y)

/* Of numbers of 64 bits: y may be any. */
static bool EK_OWN(beyond)(math_number y)
{
    return MATH_IS_BELOW(y) || y >= (math_number)math_bits;
}
MATH_PAIR(left, EK_OWN(beyond)(y) ? 0 : (math_modular)x << y)
MATH_PAIR(right, EK_OWN(beyond)(y) ? (MATH_IS_BELOW(x) ? (math_number)-1 : (math_number)0) : x >> y)
#endif

#define MATH_IS_SINGLE_f32 1
#define MATH_IS_SINGLE_f64 0
#define MATH_IS_SINGLE_s32 0
#define MATH_IS_SINGLE_s64 0
#define MATH_IS_SINGLE_u64 0

#if EK_TYPED(MATH_IS_SINGLE)
MATH_ONE(arc_cosine, acosf(x))
MATH_ONE(area_cosine, acoshf(x))
MATH_ONE(arc_sine, asinf(x))
MATH_ONE(area_sine, asinhf(x))
MATH_ONE(arc_tangent, atanf(x))
MATH_ONE(area_tangent, atanhf(x))
MATH_ONE(hyperbolic_cosine, coshf(x))
MATH_ONE(hyperbolic_sine, sinhf(x))
MATH_ONE(tangent, tanf(x))
#endif

/* NULL: not of this element type, or no function of a number. */
static math_fn *const EK_OWN(functions)[] = {
    [EK_MATH_FN_MOD] = EK_OWN(modulo),
    [EK_MATH_FN_FMOD] = EK_OWN(remainder),
#if !EK_TYPED(MATH_IS)
    [EK_MATH_FN_AND] = EK_OWN(both),
    [EK_MATH_FN_OR] = EK_OWN(either),
    [EK_MATH_FN_XOR] = EK_OWN(differ),
    [EK_MATH_FN_SHIFT_LEFT] = EK_OWN(left),
    [EK_MATH_FN_SHIFT_RIGHT] = EK_OWN(right),
#endif
#if EK_TYPED(MATH_IS_SINGLE)
    [EK_MATH_FN_ACOS] = EK_OWN(arc_cosine),
    [EK_MATH_FN_ACOSH] = EK_OWN(area_cosine),
    [EK_MATH_FN_ASIN] = EK_OWN(arc_sine),
    [EK_MATH_FN_ASINH] = EK_OWN(area_sine),
    [EK_MATH_FN_ATAN] = EK_OWN(arc_tangent),
    [EK_MATH_FN_ATANH] = EK_OWN(area_tangent),
    [EK_MATH_FN_COSH] = EK_OWN(hyperbolic_cosine),
    [EK_MATH_FN_SINH] = EK_OWN(hyperbolic_sine),
    [EK_MATH_FN_TAN] = EK_OWN(tangent),
#endif
};

static ek_status EK_OWN(check)(const ek_node *n)
{
    const ek_fmt_math *p = n->params;
    const bool moves = p->fn == EK_MATH_FN_BITS;
    const bool computes =
        p->fn < sizeof(EK_OWN(functions)) / sizeof(EK_OWN(functions)[0]) && EK_OWN(functions)[p->fn] != NULL;
    const uint8_t of = EK_TYPED(math_dtype), to = moves ? EK_TYPED(math_bits) : of;
    return (moves || computes) && ek_check_broadcast_to(n, &p->shape, of, to) ? EK_OK : EK_ERR_CORRUPT;
}

static void EK_OWN(row)(math_number *out, const math_number *a, const math_number *b, const ek_fmt_math *p)
{
    const ek_fmt_broadcast *s = &p->shape;
    for (size_t i = 0; i < s->dims[3]; i++) {
        if (p->fn == EK_MATH_FN_BITS)
            memcpy(out + i, a + i * s->a[3], sizeof *a);
        else
            out[i] = EK_OWN(functions)[p->fn](a[i * s->a[3]], b[i * s->b[3]]);
    }
}

const ek_op EK_TYPED(ek_op_math) = { .inputs_min = 2,
                                     .inputs_max = 2,
                                     .outputs = 1,
                                     .in_place = EK_INPUT_0 | EK_INPUT_1,
                                     .check = EK_OWN(check),
                                     .run = EK_OWN(run) };

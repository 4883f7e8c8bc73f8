/* Functions of one float. alpha and beta are the ONNX attributes in the order that
 * toolkit/ops/elementwise/unary.py lists them. */
#include <math.h>

#include "clamp_f32.h"
#include "op.h"

typedef void unary_fn(float *out, const float *in, size_t count, float alpha, float beta);

#define UNARY(name, expression)                                                          \
    static void name(float *out, const float *in, size_t count, float alpha, float beta) \
    {                                                                                    \
        (void)alpha;                                                                     \
        (void)beta;                                                                      \
        EK_ELEMENTWISE                                                                   \
        for (size_t i = 0; i < count; i++) {                                             \
            const float x = in[i];                                                       \
            out[i] = (expression);                                                       \
        }                                                                                \
    }

/* log(1 + exp(x)) without overflow. */
static inline float log1p_exp(float x)
{
    return fmaxf(x, 0.0f) + log1pf(expf(-fabsf(x)));
}

static inline float elu_of(float x, float alpha)
{
    return x < 0 ? alpha * expm1f(x) : x;
}

#define SQRT_HALF      0.70710678f
#define SQRT_TWO_BY_PI 0.79788456f

UNARY(clip, ek_clamp_f32(x, alpha, beta))
UNARY(sigmoid, 1.0f / (1.0f + expf(-x)))
UNARY(hyperbolic_tangent, tanhf(x))
UNARY(exponential, expf(x))
UNARY(logarithm, logf(x))
UNARY(square_root, sqrtf(x))
UNARY(absolute, fabsf(x))
UNARY(negative, -x)
UNARY(error_function, erff(x))
UNARY(hard_sigmoid, ek_clamp_f32(beta + alpha * x, 0.0f, 1.0f))
UNARY(leaky_relu, x < 0 ? alpha * x : x)
UNARY(elu, elu_of(x, alpha))
UNARY(selu, elu_of(x, alpha) * beta)
UNARY(celu, x < 0 ? alpha * expm1f(x / alpha) : x)
UNARY(softplus, log1p_exp(x))
UNARY(softsign, x / (1.0f + fabsf(x)))
UNARY(gelu, 0.5f * x * (1.0f + erff(x * SQRT_HALF)))
UNARY(round_down, floorf(x))
UNARY(round_up, ceilf(x))
UNARY(round_half_even, rintf(x))
UNARY(sine, sinf(x))
UNARY(cosine, cosf(x))
UNARY(reciprocal, 1.0f / x)
UNARY(sign, x > 0 ? 1.0f : x < 0 ? -1.0f : x)
UNARY(gelu_tanh, 0.5f * x * (1.0f + tanhf(SQRT_TWO_BY_PI * (x + 0.044715f * x * x * x))))
UNARY(mish, tanhf(log1p_exp(x)) * x)
UNARY(thresholded_relu, x > alpha ? x : 0.0f)

/* Compilers that know the bounds multiply by them in branches, which takes longer. */
static void hard_swish(float *out, const float *in, size_t count, float alpha, float beta)
{
    const volatile float zero = 0.0f, one = 1.0f;
    const float low = zero, high = one;
    (void)alpha;
    (void)beta;
    EK_ELEMENTWISE
    for (size_t i = 0; i < count; i++) out[i] = ek_clamp_f32(0.5f + in[i] * (1.0f / 6.0f), low, high) * in[i];
}

static unary_fn *const functions[] = {
    [EK_UNARY_FN_CLIP] = clip,
    [EK_UNARY_FN_SIGMOID] = sigmoid,
    [EK_UNARY_FN_TANH] = hyperbolic_tangent,
    [EK_UNARY_FN_EXP] = exponential,
    [EK_UNARY_FN_LOG] = logarithm,
    [EK_UNARY_FN_SQRT] = square_root,
    [EK_UNARY_FN_ABS] = absolute,
    [EK_UNARY_FN_NEG] = negative,
    [EK_UNARY_FN_ERF] = error_function,
    [EK_UNARY_FN_HARD_SIGMOID] = hard_sigmoid,
    [EK_UNARY_FN_HARD_SWISH] = hard_swish,
    [EK_UNARY_FN_LEAKY_RELU] = leaky_relu,
    [EK_UNARY_FN_ELU] = elu,
    [EK_UNARY_FN_SELU] = selu,
    [EK_UNARY_FN_CELU] = celu,
    [EK_UNARY_FN_SOFTPLUS] = softplus,
    [EK_UNARY_FN_SOFTSIGN] = softsign,
    [EK_UNARY_FN_GELU] = gelu,
    [EK_UNARY_FN_FLOOR] = round_down,
    [EK_UNARY_FN_CEIL] = round_up,
    [EK_UNARY_FN_ROUND] = round_half_even,
    [EK_UNARY_FN_SIN] = sine,
    [EK_UNARY_FN_COS] = cosine,
    [EK_UNARY_FN_RECIPROCAL] = reciprocal,
    [EK_UNARY_FN_SIGN] = sign,
    [EK_UNARY_FN_GELU_TANH] = gelu_tanh,
    [EK_UNARY_FN_MISH] = mish,
    [EK_UNARY_FN_THRESHOLDED_RELU] = thresholded_relu,
};

static ek_status unary_f32_check(const ek_node *n)
{
    const ek_fmt_unary *p = n->params;
    const bool known = p->fn < sizeof(functions) / sizeof(functions[0]);
    const bool fits = ek_check_in(n, 0, EK_DTYPE_FLOAT32, p->count) && ek_check_out(n, 0, EK_DTYPE_FLOAT32, p->count);
    return known && fits ? EK_OK : EK_ERR_CORRUPT;
}

static ek_status unary_f32_run(const ek_node *n)
{
    const ek_fmt_unary *p = n->params;
    functions[p->fn](ek_out(n, 0), ek_in(n, 0), p->count, p->alpha, p->beta);
    return EK_OK;
}

const ek_op ek_op_unary_f32 = { .inputs_min = 1,
                                .inputs_max = 1,
                                .outputs = 1,
                                .in_place = EK_INPUT_0,
                                .check = unary_f32_check,
                                .run = unary_f32_run };

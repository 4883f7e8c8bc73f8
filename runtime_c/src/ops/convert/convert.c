/* Convert: any element type to the values of any of ONNX's, held in one that has them all.
 *
 * Integers wrap in two's complement. Floats become integers towards zero: those of 8 bits and more saturate, NaN being
 * 0, those of 4 and 2 wrap. What becomes a float is rounded to nearest, half to even. */
#include <math.h>

#include "half.h"
#include "op.h"

enum { BLOCK = 64 };

/* Element types by TensorProto.DataType. Of integers `bits`, negative with a sign; of floats what a value has. */
typedef struct element {
    int8_t bits, exponent_bias, fraction_bits;
    bool infinite, no_negative_zero;
    float largest;
} element;

enum { ONNX_FLOAT = 1, ONNX_DOUBLE = 11 };

static const element elements[] = {
    [2] = { .bits = 8 },
    [3] = { .bits = -8 },
    [4] = { .bits = 16 },
    [5] = { .bits = -16 },
    [6] = { .bits = -32 },
    [7] = { .bits = -64 },
    [9] = { .bits = 1 },
    [12] = { .bits = 32 },
    [13] = { .bits = 64 },
    [21] = { .bits = 4 },
    [22] = { .bits = -4 },
    [25] = { .bits = 2 },
    [26] = { .bits = -2 },
    [1] = { .fraction_bits = 23 },
    [11] = { .fraction_bits = 52 },
    [10] = { .exponent_bias = 15, .fraction_bits = 10, .infinite = true, .largest = 65504.0f },
    [16] = { .exponent_bias = 127, .fraction_bits = 7, .infinite = true, .largest = 0x1.fep127f },
    [17] = { .exponent_bias = 7, .fraction_bits = 3, .largest = 448.0f },
    [18] = { .exponent_bias = 8, .fraction_bits = 3, .no_negative_zero = true, .largest = 240.0f },
    [19] = { .exponent_bias = 15, .fraction_bits = 2, .infinite = true, .largest = 57344.0f },
    [20] = { .exponent_bias = 16, .fraction_bits = 2, .no_negative_zero = true, .largest = 57344.0f },
    [23] = { .exponent_bias = 1, .fraction_bits = 1, .largest = 6.0f }, /* 4 bits */
};

enum { ONNX_FLOAT8_FIRST = 17, ONNX_FLOAT8_LAST = 20, ONNX_FLOAT4 = 23 };

static bool is_known(uint32_t code)
{
    return code < sizeof elements / sizeof elements[0] && (elements[code].bits || elements[code].fraction_bits);
}

static bool is_float(uint32_t dtype)
{
    return dtype == EK_DTYPE_FLOAT32 || dtype == EK_DTYPE_FLOAT16 || dtype == EK_DTYPE_FLOAT64;
}

/* Whether all values of an element type are values of `dtype`. */
static bool holds(uint32_t dtype, uint32_t code)
{
    const element *e = &elements[code];
    if (!e->bits)
        return dtype == EK_DTYPE_FLOAT64 || (dtype == EK_DTYPE_FLOAT32 && code != ONNX_DOUBLE) ||
               (dtype == EK_DTYPE_FLOAT16 && e->fraction_bits <= 10 && e->exponent_bias <= 15);
    switch (dtype) {
    case EK_DTYPE_UINT8: return e->bits > 0 && e->bits <= 8;
    case EK_DTYPE_INT32: return e->bits >= -32 && e->bits < 32;
    case EK_DTYPE_INT64: return e->bits < 64;
    case EK_DTYPE_UINT64: return e->bits > 0;
    default: return false;
    }
}

static ek_status convert_check(const ek_node *n)
{
    const ek_fmt_convert *p = n->params;
    const uint8_t from = ek_in_type(n, 0)->dtype, to = ek_out_type(n, 0)->dtype;
    const bool read = from != EK_DTYPE_INT8 && from != EK_DTYPE_INT16;
    return read && is_known(p->element) && holds(to, p->element) && p->saturate <= 1 &&
                   ek_check_in(n, 0, from, p->count) && ek_check_out(n, 0, to, p->count)
               ? EK_OK
               : EK_ERR_CORRUPT;
}

/* Values on their way: whole numbers, modulo 2^64, or reals. */
typedef union block {
    uint64_t whole[BLOCK];
    double real[BLOCK];
} block;

#define LOAD(member, type, expression)        \
    for (size_t i = 0; i < count; i++) {      \
        const type v = ((const type *)in)[i]; \
        b->member[i] = (expression);          \
    }                                         \
    break

static void load(block *b, const void *in, uint32_t dtype, size_t count)
{
    switch (dtype) {
    case EK_DTYPE_FLOAT32: LOAD(real, float, (double)v);
    case EK_DTYPE_FLOAT16: LOAD(real, uint16_t, (double)ek_half_to_float(v));
    case EK_DTYPE_FLOAT64: LOAD(real, double, v);
    case EK_DTYPE_INT32: LOAD(whole, int32_t, (uint64_t)(int64_t)v);
    case EK_DTYPE_UINT8: LOAD(whole, uint8_t, v);
    default: LOAD(whole, uint64_t, v);
    }
}

#define STORE(member, type, expression)        \
    for (size_t i = 0; i < count; i++) {       \
        ((type *)out)[i] = (type)(expression); \
    }                                          \
    break

static void store(void *out, const block *b, uint32_t dtype, size_t count)
{
    switch (dtype) {
    case EK_DTYPE_FLOAT32: STORE(real, float, b->real[i]);
    case EK_DTYPE_FLOAT16: STORE(real, uint16_t, ek_half_of_float((float)b->real[i]));
    case EK_DTYPE_FLOAT64: STORE(real, double, b->real[i]);
    case EK_DTYPE_INT32: STORE(whole, int32_t, (uint32_t)b->whole[i]);
    case EK_DTYPE_UINT8: STORE(whole, uint8_t, b->whole[i]);
    default: STORE(whole, uint64_t, b->whole[i]);
    }
}

static uint64_t wrapped(uint64_t x, int bits)
{
    const int size = bits < 0 ? -bits : bits;
    if (size == 64) return x;
    const uint64_t low = x & ((UINT64_C(1) << size) - 1), sign = UINT64_C(1) << (size - 1);
    return bits < 0 ? (low ^ sign) - sign : low;
}

/* The whole part, between the least and the largest number of `bits`; NaN is 0. */
static uint64_t saturated(double x, int bits)
{
    const double top = ldexp(1.0, bits < 0 ? -bits - 1 : bits), bottom = bits < 0 ? -top : 0.0;
    if (x >= top) return bits < 0 ? (UINT64_C(1) << (-bits - 1)) - 1 : UINT64_MAX >> (64 - bits);
    if (x <= bottom) return bits < 0 ? UINT64_MAX << (-bits - 1) : 0;
    return x >= 0 ? (uint64_t)x : x < 0 ? (uint64_t)(int64_t)x : 0;
}

static uint64_t whole_of(double x, int bits)
{
    if (bits == 1) return x != 0;
    const bool small = bits >= -4 && bits <= 4;
    return small ? wrapped(saturated(x == x && fabs(x) < 2147483648.0 ? x : 0, -32), bits) : saturated(x, bits);
}

/* What is beyond the largest, and NaN. */
static double beyond(double x, uint32_t code, bool saturates)
{
    const element *e = &elements[code];
    const bool of_8_bits = code >= ONNX_FLOAT8_FIRST && code <= ONNX_FLOAT8_LAST;
    if (code == ONNX_FLOAT4) return x == x ? copysign(e->largest, x) : -0.0;
    if (x != x) return x;
    if (of_8_bits && saturates) return copysign(e->largest, x);
    return e->infinite ? copysign((double)INFINITY, x) : (double)NAN;
}

static double rounded(double x, uint32_t code, bool saturates)
{
    const element *e = &elements[code];
    if (code == ONNX_DOUBLE) return x;
    if (code == ONNX_FLOAT) return (double)(float)x;
    int exponent = 1 - e->exponent_bias, of_x = 0;
    if (x == x && fabs(x) <= 2 * (double)e->largest) {
        (void)frexp(x, &of_x);
        if (of_x - 1 > exponent) exponent = of_x - 1;
        const int unit = exponent - e->fraction_bits;
        const double y = ldexp(rint(ldexp(x, -unit)), unit);
        if (fabs(y) <= (double)e->largest) return y == 0 && e->no_negative_zero ? 0.0 : y;
    }
    return beyond(x, code, saturates);
}

static void convert(block *b, bool from_float, const ek_fmt_convert *p, size_t count, bool is_unsigned)
{
    const int bits = elements[p->element].bits;
    for (size_t i = 0; i < count; i++) {
        if (bits && from_float) {
            b->whole[i] = whole_of(b->real[i], bits);
        } else if (bits) {
            b->whole[i] = bits == 1 ? b->whole[i] != 0 : wrapped(b->whole[i], bits);
        } else if (from_float) {
            b->real[i] = rounded(b->real[i], p->element, p->saturate);
        } else {
            const uint64_t v = b->whole[i];
            const double near = is_unsigned ? (double)v : (double)(int64_t)v;
            const float nearer = is_unsigned ? (float)v : (float)(int64_t)v;
            b->real[i] = p->element == ONNX_FLOAT ? (double)nearer : rounded(near, p->element, p->saturate);
        }
    }
}

/* Between float32 and float16, which models that store float16 do often: without doubles, which small cores lack. */
static bool convert_half(const ek_fmt_convert *p, uint8_t from, uint8_t to, const void *in, void *out)
{
    if (from == EK_DTYPE_FLOAT32 && to == EK_DTYPE_FLOAT16 && elements[p->element].largest == 65504.0f) {
        for (size_t i = 0; i < p->count; i++) ((uint16_t *)out)[i] = ek_half_of_float(((const float *)in)[i]);
        return true;
    }
    if (from == EK_DTYPE_FLOAT16 && to == EK_DTYPE_FLOAT32 && p->element == ONNX_FLOAT) {
        for (size_t i = 0; i < p->count; i++) ((float *)out)[i] = ek_half_to_float(((const uint16_t *)in)[i]);
        return true;
    }
    return false;
}

static ek_status convert_run(const ek_node *n)
{
    const ek_fmt_convert *p = n->params;
    const uint8_t from = ek_in_type(n, 0)->dtype, to = ek_out_type(n, 0)->dtype;
    if (convert_half(p, from, to, ek_in(n, 0), ek_out(n, 0))) return EK_OK;
    const uint8_t *in = ek_in(n, 0);
    uint8_t *out = ek_out(n, 0);
    const size_t in_bytes = ek_dtype_bytes(from), out_bytes = ek_dtype_bytes(to);
    for (size_t first = 0; first < p->count; first += BLOCK) {
        const size_t count = p->count - first < BLOCK ? p->count - first : BLOCK;
        block b;
        load(&b, in + first * in_bytes, from, count);
        convert(&b, is_float(from), p, count, from == EK_DTYPE_UINT64);
        store(out + first * out_bytes, &b, to, count);
    }
    return EK_OK;
}

const ek_op ek_op_convert = {
    .inputs_min = 1, .inputs_max = 1, .outputs = 1, .check = convert_check, .run = convert_run
};

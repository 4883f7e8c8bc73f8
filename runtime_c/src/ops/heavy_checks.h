/* What convolutions and matrix products check alike, on numbers that may be hostile. */
#ifndef EK_HEAVY_CHECKS_H
#define EK_HEAVY_CHECKS_H

#include "model/requant_table.h"

static inline uint64_t ek_align16(uint64_t bytes)
{
    return bytes > UINT64_MAX - 15 ? UINT64_MAX : (bytes + 15) & ~UINT64_C(15);
}

static inline uint64_t ek_add64(uint64_t a, uint64_t b)
{
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

static inline bool ek_is_s8(int32_t v)
{
    return v >= -128 && v <= 127;
}

/* The most that an int8 is off its zero point. */
static inline uint32_t ek_reach_s8(int32_t zero)
{
    return (uint32_t)(zero < 0 ? 127 - zero : 128 + zero);
}

static inline bool ek_check_q_range16(int32_t qmin, int32_t qmax)
{
    return qmin >= INT16_MIN && qmin <= qmax && qmax <= INT16_MAX;
}

static inline bool ek_check_q_range(int32_t zero, int32_t qmin, int32_t qmax)
{
    return ek_is_s8(zero) && ek_is_s8(qmin) && ek_is_s8(qmax) && qmin <= qmax;
}

/* A table, tight or wide. Any bias or multiplier is harmless: sums wrap. */
ek_status ek_check_requant(const ek_node *node, const ek_fmt_requant *r, uint64_t biases, uint64_t n);

/* The wide table, int32 bias[biases], int32 multiplier[n], int8 shift[n]. */
static inline const int32_t *ek_wide_table(const ek_node *node, const ek_fmt_requant *r)
{
#ifndef EK_NO_PACKERS
    if (node->widened) return node->widened;
#endif
    return ek_blob(node, r->table);
}

static inline ek_requant ek_requant_of(const ek_node *node, const ek_fmt_requant *r, size_t biases, size_t n)
{
    const int32_t *bias = ek_wide_table(node, r);
    return (ek_requant){ .bias = bias,
                         .multiplier = bias + biases,
                         .shift = (const int8_t *)(bias + biases + n),
                         .zero_point = r->output_zero,
                         .qmin = r->qmin,
                         .qmax = r->qmax };
}

/* Likewise of int16 operators, whose shifts are uint8. */
ek_status ek_check_requant16(const ek_node *node, const ek_fmt_requant *r, uint64_t biases, uint64_t n);

static inline ek_requant16 ek_requant16_of(const ek_node *node, const ek_fmt_requant *r, size_t biases, size_t n)
{
    const int32_t *bias = ek_wide_table(node, r);
    return (ek_requant16){ .bias = bias,
                           .multiplier = bias + biases,
                           .shift = (const uint8_t *)(bias + biases + n),
                           .qmin = r->qmin,
                           .qmax = r->qmax };
}

/* Plain weights, those of the file at `offset` unless they were unpacked. */
static inline const void *ek_weights_of(const ek_node *node, uint32_t offset)
{
    return node->unpacked ? node->unpacked : ek_blob(node, offset);
}

static inline const float *ek_bias_f32(const ek_node *node, uint32_t offset)
{
    return offset == EK_NO_BLOB ? NULL : ek_blob(node, offset);
}

static inline bool ek_check_bias_f32(const ek_node *node, uint32_t offset, uint64_t n)
{
    return offset == EK_NO_BLOB || ek_check_blob(node, offset, ek_mul64(n, 4), 4);
}

/* What floats have in place of a table of requantization: a bias, or nothing. */
static inline ek_status ek_check_float_tail(const ek_node *node, const ek_fmt_requant *r, uint64_t n)
{
    return !r->tight && ek_check_bias_f32(node, r->table, n) ? EK_OK : EK_ERR_CORRUPT;
}

/* Product of four 32-bit sizes, saturated. */
static inline uint64_t ek_size4(uint32_t a, uint32_t b, uint32_t c, uint32_t d)
{
    return ek_mul64((uint64_t)a * b, (uint64_t)c * d);
}

/* Bytes that a kernel table packs n x k weights in; 0 if it has no `packed`, SIZE_MAX, which no memory has room
 * for, where size_t may be too small for them. */
size_t ek_packed_bytes(ek_packed_fn *packed, uint32_t n, uint32_t k);

/* The tensors have the geometry's sizes, and every coordinate that a window, or a transposed one,
 * reaches fits int32 with room to spare. Taps outside the input are filled in, so out_h and out_w
 * are free. */
bool ek_check_geometry(const ek_node *node, const ek_fmt_conv_geometry *g, uint8_t dtype);

/* Inputs of one output element; 0 if the geometry is not one. */
static inline uint64_t ek_conv_k(const ek_fmt_conv_geometry *g)
{
    return g->groups ? (uint64_t)g->kernel_h * g->kernel_w * (g->in_c / g->groups) : 0;
}

#endif

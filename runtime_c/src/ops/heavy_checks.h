/* What convolutions and matrix products check alike, on numbers that may be hostile. */
#ifndef EK_HEAVY_CHECKS_H
#define EK_HEAVY_CHECKS_H

#include "op.h"

/* Blob offset of a bias that is not there (float kinds). */
#define EK_NO_BIAS UINT32_MAX

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

static inline bool ek_check_shift(int32_t shift)
{
    return shift >= -30 && shift <= 30;
}

static inline bool ek_check_shift16(uint32_t shift)
{
    return shift >= 1 && shift <= 62;
}

static inline bool ek_check_q_range(int32_t zero, int32_t qmin, int32_t qmax)
{
    return ek_is_s8(zero) && ek_is_s8(qmin) && ek_is_s8(qmax) && qmin <= qmax;
}

/* int32 bias[biases], int32 multiplier[n], int8 shift[n]. Any bias or multiplier is harmless: sums
 * wrap. */
static inline bool ek_check_requant(const ek_node *node, const ek_fmt_requant *r, uint64_t biases, uint64_t n)
{
    const uint64_t shifts = ek_mul64(ek_add64(biases, n), 4);
    if (!ek_is_s8(r->input_zero) || !ek_check_q_range(r->output_zero, r->qmin, r->qmax) ||
        !ek_check_blob(node, r->table, ek_add64(shifts, n), 4))
        return false;
    const int8_t *shift = (const int8_t *)ek_blob(node, r->table) + shifts;
    for (uint64_t i = 0; i < n; i++)
        if (!ek_check_shift(shift[i])) return false;
    return true;
}

static inline ek_requant ek_requant_of(const ek_node *node, const ek_fmt_requant *r, size_t biases, size_t n)
{
    const int32_t *bias = ek_blob(node, r->table);
    return (ek_requant){ .bias = bias,
                         .multiplier = bias + biases,
                         .shift = (const int8_t *)(bias + biases + n),
                         .zero_point = r->output_zero,
                         .qmin = r->qmin,
                         .qmax = r->qmax };
}

/* int32 bias[biases], int32 multiplier[n], uint8 shift[n], of int16 operators; likewise. */
static inline bool ek_check_requant16(const ek_node *node, const ek_fmt_requant16 *r, uint64_t biases, uint64_t n)
{
    const uint64_t shifts = ek_mul64(ek_add64(biases, n), 4);
    if (r->qmin > r->qmax || !ek_check_blob(node, r->table, ek_add64(shifts, n), 4)) return false;
    const uint8_t *shift = (const uint8_t *)ek_blob(node, r->table) + shifts;
    for (uint64_t i = 0; i < n; i++)
        if (!ek_check_shift16(shift[i])) return false;
    return true;
}

static inline ek_requant16 ek_requant16_of(const ek_node *node, const ek_fmt_requant16 *r, size_t biases, size_t n)
{
    const int32_t *bias = ek_blob(node, r->table);
    return (ek_requant16){ .bias = bias,
                           .multiplier = bias + biases,
                           .shift = (const uint8_t *)(bias + biases + n),
                           .qmin = r->qmin,
                           .qmax = r->qmax };
}

static inline const float *ek_bias_f32(const ek_node *node, uint32_t offset)
{
    return offset == EK_NO_BIAS ? NULL : ek_blob(node, offset);
}

static inline bool ek_check_bias_f32(const ek_node *node, uint32_t offset, uint64_t n)
{
    return offset == EK_NO_BIAS || ek_check_blob(node, offset, ek_mul64(n, 4), 4);
}

/* Product of four 32-bit sizes, saturated. */
static inline uint64_t ek_size4(uint32_t a, uint32_t b, uint32_t c, uint32_t d)
{
    return ek_mul64((uint64_t)a * b, (uint64_t)c * d);
}

/* The tensors have the geometry's sizes, and every coordinate that a window, or a transposed one,
 * reaches fits int32 with room to spare. Taps outside the input are filled in, so out_h and out_w
 * are free. */
static inline bool ek_check_geometry(const ek_node *node, const ek_fmt_conv_geometry *g, uint8_t dtype)
{
    const uint32_t nonzero[] = { g->in_h,     g->in_w,     g->out_h,      g->out_w,     g->batch,
                                 g->in_c,     g->out_c,    g->groups,     g->kernel_h,  g->kernel_w,
                                 g->stride_h, g->stride_w, g->dilation_h, g->dilation_w };
    for (size_t i = 0; i < sizeof nonzero / sizeof *nonzero; i++)
        if (!nonzero[i]) return false;
    const uint64_t limit = UINT64_C(1) << 30;
    const uint64_t reach_h = (uint64_t)g->out_h * g->stride_h + (uint64_t)g->kernel_h * g->dilation_h + g->pad_top;
    const uint64_t reach_w = (uint64_t)g->out_w * g->stride_w + (uint64_t)g->kernel_w * g->dilation_w + g->pad_left;
    return g->in_h <= limit && g->in_w <= limit && reach_h <= limit && reach_w <= limit && g->in_c % g->groups == 0 &&
           g->out_c % g->groups == 0 && ek_check_in(node, 0, dtype, ek_size4(g->batch, g->in_h, g->in_w, g->in_c)) &&
           ek_check_out(node, 0, dtype, ek_size4(g->batch, g->out_h, g->out_w, g->out_c));
}

/* Inputs of one output element; 0 if the geometry is not one. */
static inline uint64_t ek_conv_k(const ek_fmt_conv_geometry *g)
{
    return g->groups ? (uint64_t)g->kernel_h * g->kernel_w * (g->in_c / g->groups) : 0;
}

#endif

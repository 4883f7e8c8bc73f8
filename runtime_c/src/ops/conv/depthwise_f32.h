/* As element_f32.h: depthwise convolution. */
#ifndef EK_DEPTHWISE_F32_H
#define EK_DEPTHWISE_F32_H

#include "element_f32.h"

typedef ek_depthwise_f32 ek_depthwise;

/* No table packs these. */
static inline bool ek_depthwise_wants_packed(const ek_kernels *kernels)
{
    (void)kernels;
    return false;
}

static inline size_t ek_depthwise_packed(const ek_kernels *kernels, uint32_t taps, uint32_t c)
{
    (void)kernels, (void)taps, (void)c;
    return 0;
}

static inline void ek_depthwise_pack(const ek_kernels *kernels, void *packed, const ek_depthwise *d)
{
    (void)kernels, (void)packed, (void)d;
}

static inline void ek_depthwise_run(const ek_kernels *kernels, ek_element *out, size_t out_step,
                                    const ek_element *const *taps, size_t in_step, size_t pixels, const ek_depthwise *d)
{
    kernels->depthwise_f32(out, out_step, taps, in_step, pixels, d);
}

/* Zero points are 0: padding adds nothing. */
static inline uint64_t ek_depthwise_spare(const ek_fmt_conv_geometry *g)
{
    (void)g;
    return 0;
}

static inline void ek_depthwise_leave_out(ek_depthwise *part, const ek_weight *weights, const ek_fmt_conv2d *p,
                                          int32_t *spare, size_t first, size_t end)
{
    (void)part, (void)weights, (void)p, (void)spare, (void)first, (void)end;
}

#endif

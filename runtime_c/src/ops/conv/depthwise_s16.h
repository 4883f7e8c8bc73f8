/* As element_s16.h: depthwise convolution. */
#ifndef EK_DEPTHWISE_S16_H
#define EK_DEPTHWISE_S16_H

#include "element_s16.h"

typedef ek_depthwise_s16 ek_depthwise;

static inline bool ek_depthwise_wants_packed(const ek_kernels *kernels)
{
    return kernels->packed_depthwise_s16;
}

/* If so, whether they have the packer here. */
static inline bool ek_depthwise_can_pack(const ek_kernels *kernels)
{
    return kernels->pack_depthwise_s16;
}

/* Bytes of packed weights; 0 where these kernels pack none. */
static inline size_t ek_depthwise_packed(const ek_kernels *kernels, uint32_t taps, uint32_t c)
{
    return ek_packed_bytes(kernels->packed_depthwise_s16, taps, c);
}

static inline void ek_depthwise_pack(const ek_kernels *kernels, void *packed, const ek_depthwise *d)
{
    kernels->pack_depthwise_s16(packed, d);
}

/* Goes to what belongs to later channels, but for the weights. */
static inline void ek_depthwise_skip(ek_depthwise *d, size_t channels)
{
    d->requant.bias += channels;
    d->requant.multiplier += channels;
    d->requant.shift += channels;
}

static inline void ek_depthwise_run(const ek_kernels *kernels, ek_element *out, size_t out_step,
                                    const ek_element *const *taps, size_t in_step, size_t pixels, const ek_depthwise *d)
{
    kernels->depthwise_s16(out, out_step, taps, in_step, pixels, d);
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

/* As element_s8.h: depthwise convolution. */
#ifndef EK_DEPTHWISE_S8_H
#define EK_DEPTHWISE_S8_H

#include "element_s8.h"

typedef ek_depthwise_s8 ek_depthwise;

static inline bool ek_depthwise_wants_packed(const ek_kernels *kernels)
{
    return kernels->packed_depthwise_s8;
}

/* If so, whether they have the packer here. */
static inline bool ek_depthwise_can_pack(const ek_kernels *kernels)
{
    return kernels->pack_depthwise_s8;
}

/* Bytes of packed weights; 0 where these kernels pack none. */
static inline size_t ek_depthwise_packed(const ek_kernels *kernels, uint32_t taps, uint32_t c)
{
    return ek_packed_bytes(kernels->packed_depthwise_s8, taps, c);
}

static inline void ek_depthwise_pack(const ek_kernels *kernels, void *packed, const ek_depthwise *d)
{
    kernels->pack_depthwise_s8(packed, d);
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
    kernels->depthwise_s8(out, out_step, taps, in_step, pixels, d);
}

/* Bytes of scratch for biases of a line. */
static inline uint64_t ek_depthwise_spare(const ek_fmt_conv_geometry *g)
{
    return (uint64_t)g->out_c * sizeof(int32_t);
}

/* Adds the padding under the taps [from, to) to the bias. */
static inline void ek_add_padding(int32_t *bias, const int8_t *weights, size_t from, size_t to, size_t c, int32_t zero)
{
    for (size_t t = from; t < to; t++)
        for (size_t j = 0; j < c; j++) bias[j] = (int32_t)((uint32_t)bias[j] + (uint32_t)(zero * weights[t * c + j]));
}

/* Corrects for the taps [0, first) and [end, all) in the padding, which the kernel is not going to see. */
static inline void ek_depthwise_leave_out(ek_depthwise *part, const int8_t *weights, const ek_fmt_conv2d *p,
                                          int32_t *spare, size_t first, size_t end)
{
    const size_t c = part->c, all = (size_t)p->geometry.kernel_h * p->geometry.kernel_w;
    if (end - first == all) return;
    memcpy(spare, part->requant.bias, c * sizeof *spare);
    ek_add_padding(spare, weights, 0, first, c, p->requant.input_zero);
    ek_add_padding(spare, weights, end, all, c, p->requant.input_zero);
    part->requant.bias = spare;
}

#endif

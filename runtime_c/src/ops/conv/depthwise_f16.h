/* As gemm_f16.h: depthwise convolution. */
#ifndef EK_DEPTHWISE_F16_H
#define EK_DEPTHWISE_F16_H

#include "ops/matmul/gemm_f16.h"

typedef struct ek_depthwise {
    const void *weights; /* [taps][c] */
    const float *bias;   /* [c], or NULL */
    float min, max;
    uint32_t taps, c;
} ek_depthwise;

/* Nothing packs these. */
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
    (void)kernels;
    const ek_weight *w = d->weights;
    for (size_t x = 0; x < pixels; x++, out += out_step) {
        for (size_t c = 0; c < d->c; c++) {
            float sum = d->bias ? d->bias[c] : 0;
            for (size_t t = 0; t < d->taps; t++)
                sum += ek_half_to_float(taps[t][x * in_step + c]) * ek_half_to_float(w[t * d->c + c]);
            out[c] = ek_half_clamped(sum, d->min, d->max);
        }
    }
}

/* Padding is 0 and adds nothing. */
static inline uint64_t ek_depthwise_spare(const ek_fmt_conv_geometry *g)
{
    (void)g;
    return 0;
}

static inline void ek_depthwise_leave_out(ek_depthwise *part, const ek_weight *weights, const ek_fmt_conv2d *p,
                                          void *spare, size_t first, size_t end)
{
    (void)part, (void)weights, (void)p, (void)spare, (void)first, (void)end;
}

#endif

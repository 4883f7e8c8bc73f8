/* The body of depthwise_conv2d_s8.c and _w4.c, which define ek_params. */
typedef ek_depthwise_s8 ek_depthwise;

/* Bias that counts padding under the taps [from, to). */
static void add_padding(int32_t *bias, const int8_t *weights, size_t from, size_t to, size_t c, int32_t zero)
{
    for (size_t t = from; t < to; t++)
        for (size_t j = 0; j < c; j++) bias[j] = (int32_t)((uint32_t)bias[j] + (uint32_t)(zero * weights[t * c + j]));
}

static inline void leave_out(ek_depthwise *part, const ek_node *node, int32_t *bias, size_t first, size_t end)
{
    const ek_params *p = node->params;
    const size_t c = part->c, all = (size_t)p->geometry.kernel_h * p->geometry.kernel_w;
    const int8_t *weights = ek_weights_of(node, p->weights);
    if (end - first == all) return;
    memcpy(bias, part->requant.bias, c * sizeof *bias);
    add_padding(bias, weights, 0, first, c, p->requant.input_zero);
    add_padding(bias, weights, end, all, c, p->requant.input_zero);
    part->requant.bias = bias;
}

#define EK_DEPTHWISE      kernels->depthwise_s8
#define EK_PACKED         kernels->packed_depthwise_s8
#define EK_PACK           kernels->pack_depthwise_s8
#define EK_SPARE_BYTES(g) ((uint64_t)(g)->out_c * sizeof(int32_t))
#define EK_LEAVE_OUT      leave_out
#include "depthwise_conv2d.h"

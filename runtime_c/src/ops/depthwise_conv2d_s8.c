#include "depthwise_lines.h"

static ek_status check(const ek_node *node)
{
    const ek_fmt_depthwise_conv2d_s8 *p = node->params;
    const ek_fmt_conv_geometry *g = &p->geometry;
    if (!ek_check_geometry(node, g, EK_DTYPE_INT8) || !ek_check_depthwise(g) ||
        !ek_check_blob(node, p->weights, ek_mul64(ek_conv_k(g), g->out_c), 1) ||
        !ek_check_requant(node, &p->requant, g->out_c, g->out_c))
        return EK_ERR_CORRUPT;
    return EK_OK;
}

static uint64_t scratch(const void *params, const ek_kernels *kernels)
{
    const ek_fmt_conv_geometry *g = &((const ek_fmt_depthwise_conv2d_s8 *)params)->geometry;
    if (kernels->packed_depthwise_s8) return ek_lines_scratch(g, 1);
    return ek_taps_scratch(g, 1) + (uint64_t)g->out_c * sizeof(int32_t);
}

static size_t packed_bytes(const ek_node *node)
{
    const ek_fmt_conv_geometry *g = &((const ek_fmt_depthwise_conv2d_s8 *)node->params)->geometry;
    if (!node->kernels->packed_depthwise_s8) return 0;
    return node->kernels->packed_depthwise_s8((uint32_t)g->kernel_h * g->kernel_w, g->out_c);
}

static ek_depthwise_s8 depthwise_of(const ek_node *node, const void *weights)
{
    const ek_fmt_depthwise_conv2d_s8 *p = node->params;
    const ek_fmt_conv_geometry *g = &p->geometry;
    return (ek_depthwise_s8){ .weights = weights,
                              .requant = ek_requant_of(node, &p->requant, g->out_c, g->out_c),
                              .taps = (uint32_t)g->kernel_h * g->kernel_w,
                              .c = g->out_c };
}

static inline void pack(const ek_node *node, void *packed)
{
    const ek_fmt_depthwise_conv2d_s8 *p = node->params;
    const ek_depthwise_s8 all = depthwise_of(node, ek_blob(node, p->weights));
    node->kernels->pack_depthwise_s8(packed, &all);
}

static ek_status run_packed(const ek_node *node)
{
    const ek_fmt_depthwise_conv2d_s8 *p = node->params;
    const ek_fmt_conv_geometry *g = &p->geometry;
    const size_t c = g->out_c, in_image = (size_t)g->in_h * g->in_w * c;
    const ek_depthwise_s8 all = depthwise_of(node, node->packed);
    ek_window w = ek_conv_window(g, 1, (uint8_t)p->requant.input_zero);
    ek_lines lines = ek_lines_init(g, &w, 1, node->scratch, node->kernels->copy);
    int8_t *out = ek_out(node, 0);
    for (size_t image = 0; image < g->batch; image++) {
        w.in = (const uint8_t *)ek_in(node, 0) + image * in_image;
        for (int32_t y = 0; y < w.out_h; y++, out += g->out_w * c) {
            ek_lines_point(&lines, y);
            node->kernels->depthwise_s8(out, c, (const int8_t *const *)lines.tap, g->stride_w * c, g->out_w, &all);
        }
    }
    return EK_OK;
}

/* Bias that counts padding under the taps [from, to) which the kernel is not going to see. */
static void add_padding(int32_t *bias, const int8_t *weights, size_t from, size_t to, size_t c, int32_t zero)
{
    for (size_t t = from; t < to; t++)
        for (size_t j = 0; j < c; j++) bias[j] = (int32_t)((uint32_t)bias[j] + (uint32_t)(zero * weights[t * c + j]));
}

/* The kernel's part of the present line: the kernel rows inside the image. */
static ek_depthwise_s8 line_part(const ek_node *node, const ek_taps *taps, int32_t *bias)
{
    const ek_fmt_depthwise_conv2d_s8 *p = node->params;
    const ek_fmt_conv_geometry *g = &p->geometry;
    const size_t c = g->out_c, all = (size_t)g->kernel_h * g->kernel_w;
    const size_t first = (size_t)taps->first * g->kernel_w, end = (size_t)taps->end * g->kernel_w;
    const int8_t *weights = ek_blob(node, p->weights);
    ek_requant requant = ek_requant_of(node, &p->requant, c, c);
    if (end - first < all) {
        memcpy(bias, requant.bias, c * sizeof *bias);
        add_padding(bias, weights, 0, first, c, p->requant.input_zero);
        add_padding(bias, weights, end, all, c, p->requant.input_zero);
        requant.bias = bias;
    }
    return (ek_depthwise_s8){
        .weights = weights + first * c, .requant = requant, .taps = (uint32_t)(end - first), .c = (uint32_t)c
    };
}

static ek_status run(const ek_node *node)
{
    if (node->packed) return run_packed(node);
    const ek_fmt_depthwise_conv2d_s8 *p = node->params;
    const ek_fmt_conv_geometry *g = &p->geometry;
    const size_t c = g->out_c, in_image = (size_t)g->in_h * g->in_w * c;
    ek_window w = ek_conv_window(g, 1, (uint8_t)p->requant.input_zero);
    ek_taps taps = ek_taps_init(g, &w, node->scratch);
    int32_t *bias = (int32_t *)(void *)((uint8_t *)node->scratch + ek_taps_scratch(g, 1));
    int8_t *out = ek_out(node, 0);
    for (size_t image = 0; image < g->batch; image++) {
        w.in = (const uint8_t *)ek_in(node, 0) + image * in_image;
        for (int32_t y = 0; y < w.out_h; y++) {
            ek_taps_line(&taps, &w, y);
            const ek_depthwise_s8 part = line_part(node, &taps, bias);
            for (int32_t x = 0, pixels; x < w.out_w; x += pixels, out += (size_t)pixels * c) {
                pixels = ek_taps_point(&taps, &w, y, x);
                node->kernels->depthwise_s8(out, c, (const int8_t *const *)taps.tap, g->stride_w * c, (size_t)pixels,
                                            &part);
            }
        }
    }
    return EK_OK;
}

const ek_op ek_op_depthwise_conv2d_s8 = {
    .inputs_min = 1,
    .inputs_max = 1,
    .outputs = 1,
    .check = check,
    .scratch = scratch,
    .packed_bytes = packed_bytes,
    .pack = EK_OP_PACK(pack),
    .weights_at = offsetof(ek_fmt_depthwise_conv2d_s8, weights),
    .run = run,
};

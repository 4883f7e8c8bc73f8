#include "depthwise_taps.h"

static ek_status check(const ek_node *node)
{
    const ek_fmt_depthwise_conv2d_f32 *p = node->params;
    const ek_fmt_conv_geometry *g = &p->geometry;
    if (!ek_check_geometry(node, g, EK_DTYPE_FLOAT32) || !ek_check_depthwise(g) ||
        !ek_check_blob(node, p->weights, ek_mul64(ek_mul64(ek_conv_k(g), g->out_c), sizeof(float)), sizeof(float)) ||
        !ek_check_bias_f32(node, p->bias, g->out_c))
        return EK_ERR_CORRUPT;
    return EK_OK;
}

static uint64_t scratch(const void *params, const ek_kernels *kernels)
{
    (void)kernels;
    return ek_taps_scratch(&((const ek_fmt_depthwise_conv2d_f32 *)params)->geometry, sizeof(float));
}

static ek_status run(const ek_node *node)
{
    const ek_fmt_depthwise_conv2d_f32 *p = node->params;
    const ek_fmt_conv_geometry *g = &p->geometry;
    const size_t c = g->out_c, in_image = (size_t)g->in_h * g->in_w * c * sizeof(float);
    const float *weights = ek_blob(node, p->weights);
    ek_depthwise_f32 part = { .bias = ek_bias_f32(node, p->bias), .min = p->min, .max = p->max, .c = g->out_c };
    ek_window w = ek_conv_window(g, sizeof(float), 0);
    ek_taps taps = ek_taps_init(g, &w, node->scratch);
    float *out = ek_out(node, 0);
    for (size_t image = 0; image < g->batch; image++) {
        w.in = (const uint8_t *)ek_in(node, 0) + image * in_image;
        for (int32_t y = 0; y < w.out_h; y++) {
            ek_taps_line(&taps, &w, y);
            part.weights = weights + (size_t)taps.first * g->kernel_w * c;
            part.taps = (uint32_t)(taps.end - taps.first) * g->kernel_w;
            for (int32_t x = 0, pixels; x < w.out_w; x += pixels, out += (size_t)pixels * c) {
                pixels = ek_taps_point(&taps, &w, y, x);
                node->kernels->depthwise_f32(out, c, (const float *const *)taps.tap, g->stride_w * c, (size_t)pixels,
                                             &part);
            }
        }
    }
    return EK_OK;
}

const ek_op ek_op_depthwise_conv2d_f32 = {
    .inputs_min = 1,
    .inputs_max = 1,
    .outputs = 1,
    .check = check,
    .scratch = scratch,
    .run = run,
};

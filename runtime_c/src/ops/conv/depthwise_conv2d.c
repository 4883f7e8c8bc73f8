/* Convolution of each channel with its own kernel. Built for s8, s16 and f32. */
#include "element.h"

#include EK_TYPED_HEADER(depthwise)
#include "depthwise_lines.h"
#include "weights/coded.h"

static inline uint32_t taps_of(const ek_fmt_conv_geometry *g)
{
    return (uint32_t)g->kernel_h * g->kernel_w;
}

static ek_status depthwise_conv2d_check(const ek_node *node)
{
    const ek_fmt_depthwise_conv2d *p = node->params;
    const ek_fmt_conv_geometry *g = &p->geometry;
    if (!ek_check_geometry(node, g, EK_ELEMENT_DTYPE) || !ek_check_depthwise(g)) return EK_ERR_CORRUPT;
    const ek_status tail = EK_CHECK_TAIL(node, p, g->out_c, g->out_c);
    if (tail) return tail;
    const ek_coded_size size = { taps_of(g), g->out_c, g->out_c, taps_of(g) };
    return ek_check_weights(node, p->weights, &p->codec, &size, sizeof(ek_weight));
}

static inline ek_table depthwise_conv2d_table(const ek_node *node)
{
    const ek_fmt_depthwise_conv2d *p = node->params;
    return EK_TABLE(p, p->geometry.out_c, p->geometry.out_c);
}

/* The kernel's part of a line: kernel rows [first, end). */
static ek_depthwise part_of(const ek_node *node, const void *weights, size_t first, size_t end)
{
    const ek_fmt_depthwise_conv2d *p = node->params;
    const ek_fmt_conv_geometry *g = &p->geometry;
    return (ek_depthwise){ .weights = (const ek_weight *)weights + first * g->kernel_w * g->out_c,
                           EK_TAIL(node, p, g->out_c, g->out_c),
                           .taps = (uint32_t)(end - first) * g->kernel_w,
                           .c = g->out_c };
}

/* Of lines and taps, with weights that are there. */
static uint64_t depthwise_conv2d_plain_scratch(const ek_fmt_conv_geometry *g, const ek_kernels *kernels)
{
    if (ek_depthwise_wants_packed(kernels)) return ek_lines_scratch(g, sizeof(ek_element));
    return ek_taps_scratch(g, sizeof(ek_element)) + ek_depthwise_spare(g);
}

static size_t depthwise_conv2d_packed_plain(const ek_fmt_conv_geometry *g, const ek_kernels *kernels)
{
    return ek_depthwise_packed(kernels, taps_of(g), g->out_c);
}

static inline void depthwise_conv2d_pack_plain(const ek_node *node, void *packed)
{
    const ek_fmt_depthwise_conv2d *p = node->params;
    const ek_depthwise all = part_of(node, ek_weights_of(node, p->weights), 0, p->geometry.kernel_h);
    ek_depthwise_pack(node->kernels, packed, &all);
}

static void run_packed(const ek_node *node)
{
    const ek_fmt_depthwise_conv2d *p = node->params;
    const ek_fmt_conv_geometry *g = &p->geometry;
    const size_t c = g->out_c, in_image = (size_t)g->in_h * g->in_w * c * sizeof(ek_element);
    const ek_depthwise all = part_of(node, node->packed, 0, g->kernel_h);
    ek_window w = ek_conv_window(g, sizeof(ek_element), EK_FILL(p));
    ek_lines lines = ek_lines_init(g, &w, sizeof(ek_element), node->scratch, node->kernels->copy);
    ek_element *out = ek_out(node, 0);
    for (size_t image = 0; image < g->batch; image++) {
        w.in = (const uint8_t *)ek_in(node, 0) + image * in_image;
        for (int32_t y = 0; y < w.out_h; y++, out += g->out_w * c) {
            ek_lines_point(&lines, y);
            ek_depthwise_run(node->kernels, out, c, (const ek_element *const *)lines.tap, g->stride_w * c, g->out_w,
                             &all);
        }
    }
}

static ek_status depthwise_conv2d_run_plain(const ek_node *node)
{
    if (node->packed) {
        run_packed(node);
        return EK_OK;
    }
    const ek_fmt_depthwise_conv2d *p = node->params;
    const ek_fmt_conv_geometry *g = &p->geometry;
    const size_t c = g->out_c, in_image = (size_t)g->in_h * g->in_w * c * sizeof(ek_element);
    const ek_weight *weights = ek_weights_of(node, p->weights);
    ek_window w = ek_conv_window(g, sizeof(ek_element), EK_FILL(p));
    ek_taps taps = ek_taps_init(g, &w, node->scratch);
    void *spare = (uint8_t *)node->scratch + ek_taps_scratch(g, sizeof(ek_element));
    ek_element *out = ek_out(node, 0);
    for (size_t image = 0; image < g->batch; image++) {
        w.in = (const uint8_t *)ek_in(node, 0) + image * in_image;
        for (int32_t y = 0; y < w.out_h; y++) {
            ek_taps_line(&taps, &w, y);
            ek_depthwise part = part_of(node, weights, (size_t)taps.first, (size_t)taps.end);
            ek_depthwise_leave_out(&part, weights, p, spare, (size_t)taps.first * g->kernel_w,
                                   (size_t)taps.end * g->kernel_w);
            for (int32_t x = 0, pixels; x < w.out_w; x += pixels, out += (size_t)pixels * c) {
                pixels = ek_taps_point(&taps, &w, y, x);
                ek_depthwise_run(node->kernels, out, c, (const ek_element *const *)taps.tap, g->stride_w * c,
                                 (size_t)pixels, &part);
            }
        }
    }
    return EK_OK;
}

#ifdef EK_CODED
static uint64_t decoded_bytes(const ek_fmt_conv_geometry *g)
{
    return ek_align16((uint64_t)taps_of(g) * g->out_c);
}

/* The decoded weights, and as the kernels want them. Too much where they cannot pack them. */
static uint64_t depthwise_conv2d_scratch(const ek_node *node)
{
    const ek_kernels *kernels = node->kernels;
    const ek_fmt_depthwise_conv2d *p = node->params;
    const ek_fmt_conv_geometry *g = &p->geometry;
    const uint64_t plain = depthwise_conv2d_plain_scratch(g, kernels);
    if (!ek_is_coded(&p->codec)) return plain;
    if (ek_depthwise_wants_packed(kernels) && !ek_depthwise_can_pack(kernels)) return UINT64_MAX;
    return ek_add64(ek_align16(plain), decoded_bytes(g) + depthwise_conv2d_packed_plain(g, kernels));
}

static uint64_t depthwise_conv2d_packed_bytes(const ek_node *node)
{
    const ek_fmt_depthwise_conv2d *p = node->params;
    const uint64_t plain = depthwise_conv2d_packed_plain(&p->geometry, node->kernels);
    return ek_is_coded(&p->codec) ? ek_coded_kept(node, plain, decoded_bytes(&p->geometry)) : plain;
}

static void pack_from(const ek_node *node, void *packed, int8_t *plain)
{
    const ek_fmt_depthwise_conv2d *p = node->params;
    const ek_coded w = ek_coded_of(node, p->weights, &p->codec, taps_of(&p->geometry));
    const ek_node n = ek_decoded(node, plain);
    w.codec->unpack_taps(plain, &w, p->geometry.out_c);
    if (ek_depthwise_wants_packed(node->kernels)) depthwise_conv2d_pack_plain(&n, packed);
}

/* To decode them before they are packed. */
static inline uint64_t depthwise_conv2d_pack_room(const ek_node *node)
{
    const ek_fmt_depthwise_conv2d *p = node->params;
    const bool decodes = ek_is_coded(&p->codec) && ek_depthwise_wants_packed(node->kernels);
    return decodes ? decoded_bytes(&p->geometry) : 0;
}

static inline void depthwise_conv2d_pack(const ek_node *node, void *packed)
{
    const ek_fmt_depthwise_conv2d *p = node->params;
    if (ek_is_coded(&p->codec))
        pack_from(node, packed, (int8_t *)packed + depthwise_conv2d_packed_plain(&p->geometry, node->kernels));
    else
        depthwise_conv2d_pack_plain(node, packed);
}

static ek_status depthwise_conv2d_run(const ek_node *node)
{
    const ek_fmt_depthwise_conv2d *p = node->params;
    const ek_fmt_conv_geometry *g = &p->geometry;
    if (!ek_is_coded(&p->codec)) return depthwise_conv2d_run_plain(node);
    uint8_t *plain = (uint8_t *)node->scratch + ek_align16(depthwise_conv2d_plain_scratch(g, node->kernels));
    uint8_t *packed = plain + decoded_bytes(g);
    ek_node n = ek_decoded(node, node->packed ? node->packed : plain);
    if (!node->packed) pack_from(node, packed, (int8_t *)plain);
    if (ek_depthwise_wants_packed(node->kernels)) n.packed = node->packed ? node->packed : packed;
    return depthwise_conv2d_run_plain(&n);
}
#else
static inline const ek_fmt_conv_geometry *depthwise_conv2d_geometry_of(const ek_node *node)
{
    return &((const ek_fmt_depthwise_conv2d *)node->params)->geometry;
}

static uint64_t depthwise_conv2d_scratch(const ek_node *node)
{
    return depthwise_conv2d_plain_scratch(depthwise_conv2d_geometry_of(node), node->kernels);
}

static uint64_t depthwise_conv2d_packed_bytes(const ek_node *node)
{
    return depthwise_conv2d_packed_plain(depthwise_conv2d_geometry_of(node), node->kernels);
}
#endif

const ek_op EK_CODED_OP(depthwise_conv2d) = {
    .inputs_min = 1,
    .inputs_max = 1,
    .outputs = 1,
    .check = depthwise_conv2d_check,
    .scratch = depthwise_conv2d_scratch,
    .packed_bytes = depthwise_conv2d_packed_bytes,
#ifdef EK_CODED
    EK_OP_PACK_IN(depthwise_conv2d_pack_room, depthwise_conv2d_pack),
    .run = depthwise_conv2d_run,
#else
    .pack = EK_OP_PACK(depthwise_conv2d_pack_plain),
    .run = depthwise_conv2d_run_plain,
#endif
    EK_OP_CONSTANTS(ek_fmt_depthwise_conv2d, depthwise_conv2d_table),
};

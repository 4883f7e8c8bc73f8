/* Convolution: windows of an image times the weights of each group. Built for s8, s16 and f32. */
#include "element.h"

/* clang-format off */
#include EK_TYPED_HEADER(ops/matmul/gemm)
/* clang-format on */
#include "conv_gemm.h"
#include "weights/coded.h"
#ifdef EK_GEMM_IN_PARTS
#include "conv_lines.h"
#endif
#ifdef EK_CODED
#include "weights/blocks.h"
#endif

static inline const ek_fmt_conv_geometry *conv2d_geometry_of(const ek_node *node)
{
    return &((const ek_fmt_conv2d *)node->params)->geometry;
}
static inline uint32_t group_in(const ek_fmt_conv_geometry *g)
{
    return g->in_c / (uint32_t)g->groups;
}
static inline uint32_t group_out(const ek_fmt_conv_geometry *g)
{
    return g->out_c / (uint32_t)g->groups;
}

static ek_status conv2d_check(const ek_node *node)
{
    const ek_fmt_conv2d *p = node->params;
    const ek_fmt_conv_geometry *g = &p->geometry;
    if (!ek_check_geometry(node, g, EK_ELEMENT_DTYPE)) return EK_ERR_CORRUPT;
    const ek_status tail = EK_CHECK_TAIL(node, p, g->out_c, g->out_c);
    if (tail) return tail;
    const ek_coded_size size = { g->out_c, ek_conv_k(g), g->out_c, ek_conv_k(g) };
    return ek_check_weights(node, p->weights, &p->codec, &size, sizeof(ek_weight));
}

static inline ek_table conv2d_table(const ek_node *node)
{
    const ek_fmt_conv2d *p = node->params;
    return EK_TABLE(p, p->geometry.out_c, p->geometry.out_c);
}

/* Of windows, with weights that are there. */
static uint64_t conv2d_plain_scratch(const ek_fmt_conv_geometry *g, const ek_kernels *kernels)
{
#ifdef EK_GEMM_IN_PARTS
    if (ek_conv_in_lines(g, kernels)) return ek_conv_lines_scratch(g);
#endif
    return ek_window_needs_no_rows(g) ? 0 : ek_mul64(ek_conv_k(g), ek_gemm_rows(kernels) * sizeof(ek_element));
}

static uint64_t conv2d_scratch(const ek_node *node)
{
    const ek_fmt_conv2d *p = node->params;
    const uint64_t plain = conv2d_plain_scratch(&p->geometry, node->kernels);
#ifdef EK_CODED
    if (ek_is_coded(&p->codec)) {
        const ek_codec *codec = ek_codec_of(node, p->codec.id);
        const uint64_t k = ek_conv_k(&p->geometry);
        uint64_t room = EK_TYPED(ek_block_scratch)(node->kernels, codec, k, EK_BLOCK_CONV_CHANNELS);
#ifndef EK_NO_STREAMS
        room = ek_add64(room, EK_CODED_NEXT);
#endif
        return ek_add64(ek_align16(plain), room);
    }
#endif
    return plain;
}

static size_t conv2d_packed_group(const ek_node *node)
{
    const ek_fmt_conv_geometry *g = conv2d_geometry_of(node);
    return ek_gemm_packed(node->kernels, group_out(g), (uint32_t)ek_conv_k(g));
}

static uint64_t conv2d_packed_plain(const ek_node *node)
{
    return (uint64_t)conv2d_geometry_of(node)->groups * conv2d_packed_group(node);
}

static uint64_t conv2d_packed_bytes(const ek_node *node)
{
#ifdef EK_CODED
    const ek_fmt_conv2d *p = node->params;
    if (ek_is_coded(&p->codec))
        return ek_coded_kept(node, conv2d_packed_plain(node), ek_align16(ek_conv_k(&p->geometry) * p->geometry.out_c));
#endif
    return conv2d_packed_plain(node);
}

/* The group's weights in the file, or decoded. */
static inline ek_gemm conv2d_product(const ek_node *node, size_t group)
{
    const ek_fmt_conv2d *p = node->params;
    const ek_fmt_conv_geometry *g = &p->geometry;
    const uint32_t k = (uint32_t)ek_conv_k(g), n = group_out(g);
    ek_gemm gemm = { .weights = (const ek_weight *)ek_weights_of(node, p->weights) + group * n * k,
                     EK_TAIL(node, p, g->out_c, g->out_c),
                     .n = n,
                     .k = k };
    ek_gemm_skip(&gemm, group * n);
    return gemm;
}

static inline void conv2d_pack_plain(const ek_node *node, void *packed)
{
    const size_t bytes = conv2d_packed_group(node);
    for (size_t group = 0; group < conv2d_geometry_of(node)->groups; group++) {
        const ek_gemm gemm = conv2d_product(node, group);
        ek_gemm_pack(node->kernels, (uint8_t *)packed + group * bytes, &gemm);
    }
}

static inline void run_image(ek_conv *conv, const ek_fmt_conv_geometry *g, const ek_window *w, void *rows)
{
#ifdef EK_GEMM_IN_PARTS
    if (ek_conv_in_lines(g, conv->kernels)) {
        ek_conv_lines_run(conv, g, w, rows);
        return;
    }
#endif
    (void)g;
    ek_conv_run(conv, w, rows);
}

/* Output channels `first` and on of a group, in all images. */
static void run_channels(const ek_node *node, size_t group, size_t first, const ek_gemm *gemm)
{
    const ek_fmt_conv2d *p = node->params;
    const ek_fmt_conv_geometry *g = &p->geometry;
    const ek_element *in = ek_in(node, 0);
    ek_element *out = ek_out(node, 0);
    const size_t in_image = (size_t)g->in_h * g->in_w * g->in_c, out_image = (size_t)g->out_h * g->out_w * g->out_c;
    ek_window window = ek_conv_window(g, sizeof(ek_element), EK_FILL(p));
    ek_conv conv = {
        .kernels = node->kernels, .gemm = *gemm, .out_pixel = g->out_c, .out_row = (size_t)g->out_w * g->out_c
    };
    for (size_t image = 0; image < g->batch; image++) {
        window.in = (const uint8_t *)(in + image * in_image + group * group_in(g));
        conv.out = out + image * out_image + group * group_out(g) + first;
        run_image(&conv, g, &window, node->scratch);
    }
}

/* Bytes of a group's weights that a session keeps: packed, or decoded where these kernels pack none. */
static inline size_t conv2d_kept_group(const ek_node *node)
{
    const size_t packed = conv2d_packed_group(node);
#ifdef EK_CODED
    const ek_fmt_conv_geometry *g = conv2d_geometry_of(node);
    if (!packed) return (size_t)group_out(g) * (size_t)ek_conv_k(g);
#endif
    return packed;
}

static ek_status conv2d_run_plain(const ek_node *node)
{
    const size_t groups = conv2d_geometry_of(node)->groups;
    for (size_t group = 0; group < groups; group++) {
        ek_gemm gemm = conv2d_product(node, group);
        if (node->packed) gemm.weights = (const uint8_t *)node->packed + group * conv2d_kept_group(node);
        run_channels(node, group, 0, &gemm);
    }
    return EK_OK;
}

#ifdef EK_CODED
static ek_coded conv2d_weights_of(const ek_node *node)
{
    const ek_fmt_conv2d *p = node->params;
    return ek_coded_of(node, p->weights, &p->codec, (uint32_t)ek_conv_k(&p->geometry));
}

/* To decode them before they are packed. */
static inline uint64_t conv2d_pack_room(const ek_node *node)
{
    const ek_fmt_conv2d *p = node->params;
    return ek_is_coded(&p->codec) && ek_gemm_wants_packed(node->kernels)
               ? ek_align16(ek_conv_k(&p->geometry) * p->geometry.out_c)
               : 0;
}

static inline void conv2d_pack(const ek_node *node, void *packed)
{
    const ek_fmt_conv2d *p = node->params;
    if (!ek_is_coded(&p->codec)) {
        conv2d_pack_plain(node, packed);
        return;
    }
    ek_coded w = conv2d_weights_of(node);
    int8_t *plain = (int8_t *)packed + conv2d_packed_plain(node);
    const ek_node n = ek_decoded(node, plain);
    w.codec->unpack(plain, &w, 0, p->geometry.out_c);
    if (ek_gemm_wants_packed(node->kernels)) conv2d_pack_plain(&n, packed);
}

#ifndef EK_NO_STREAMS
static ek_status conv2d_run_blocks(const ek_node *node)
{
    const ek_fmt_conv2d *p = node->params;
    const ek_fmt_conv_geometry *g = &p->geometry;
    const uint64_t plain = ek_align16(conv2d_plain_scratch(g, node->kernels));
    const uint32_t block =
        EK_TYPED(ek_block_in)(node->kernels, ek_codec_of(node, p->codec.id), (uint32_t)ek_conv_k(g),
                              EK_BLOCK_CONV_CHANNELS, ek_coded_room(node, plain + EK_CODED_NEXT), group_out(g) + 3);
    uint8_t *const room = (uint8_t *)node->scratch + plain;
    ek_coded_next *const next = (void *)room;
    memset(next, 0, sizeof *next);
    for (uint32_t group = 0; group < g->groups; group++) {
        ek_gemm gemm = conv2d_product(node, group);
        for (uint32_t first = 0, left = group_out(g); left; first += gemm.n, left -= gemm.n) {
            gemm.n = left < block ? left : block;
            EK_TYPED(ek_block_load_next)(&gemm, node, p->weights, &p->codec, block, next);
            run_channels(node, group, first, &gemm);
            ek_gemm_skip(&gemm, gemm.n);
        }
    }
    return EK_OK;
}
#else
static ek_status conv2d_run_blocks(const ek_node *node)
{
    const ek_fmt_conv_geometry *g = conv2d_geometry_of(node);
    ek_coded w = conv2d_weights_of(node);
    const uint32_t block = EK_TYPED(ek_block)(node->kernels, w.codec, w.k, EK_BLOCK_CONV_CHANNELS);
    for (uint32_t group = 0; group < g->groups; group++) {
        ek_gemm gemm = conv2d_product(node, group);
        for (uint32_t first = 0, left = group_out(g); left; first += gemm.n, left -= gemm.n) {
            uint8_t *room = (uint8_t *)node->scratch + ek_align16(conv2d_plain_scratch(g, node->kernels));
            gemm.n = left < block ? left : block;
            EK_TYPED(ek_block_load)(&gemm, node->kernels, &w, group * group_out(g) + first, block, room);
            run_channels(node, group, first, &gemm);
            ek_gemm_skip(&gemm, gemm.n);
        }
    }
    return EK_OK;
}
#endif

static ek_status conv2d_run(const ek_node *node)
{
    const ek_fmt_conv2d *p = node->params;
    return ek_is_coded(&p->codec) && !node->packed ? conv2d_run_blocks(node) : conv2d_run_plain(node);
}
#endif

const ek_op EK_CODED_OP(conv2d) = {
    .inputs_min = 1,
    .inputs_max = 1,
    .outputs = 1,
    .check = conv2d_check,
    .scratch = conv2d_scratch,
    .packed_bytes = conv2d_packed_bytes,
#ifdef EK_CODED
    EK_OP_PACK_IN(conv2d_pack_room, conv2d_pack),
    .run = conv2d_run,
#else
    .pack = EK_OP_PACK(conv2d_pack_plain),
    .run = conv2d_run_plain,
#endif
    EK_OP_CONSTANTS(ek_fmt_conv2d, conv2d_table),
};

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
    const ek_fmt_conv2d *p = node->params;
    const ek_fmt_conv_geometry *g = &p->geometry;
    if (!ek_check_geometry(node, g, EK_ELEMENT_DTYPE) || !ek_check_depthwise(g)) return EK_ERR_CORRUPT;
    const ek_status tail = EK_CHECK_TAIL(node, p, g->out_c, g->out_c);
    if (tail) return tail;
    const ek_coded_size size = { taps_of(g), g->out_c, g->out_c, taps_of(g) };
    return ek_check_weights(node, p->weights, &p->codec, &size, sizeof(ek_weight));
}

static inline ek_table depthwise_conv2d_table(const ek_node *node)
{
    const ek_fmt_conv2d *p = node->params;
    return EK_TABLE(p, p->geometry.out_c, p->geometry.out_c);
}

/* Channels [first, first + n) that are computed together: all, unless their weights are decoded block by block. */
typedef struct channels {
    uint32_t first, n;
} channels;

#ifdef EK_CODED
#define OR_ALL(of, g)    (of)
#define OUT_OF(node, of) ((ek_element *)ek_out(node, 0) + (of).first)
#else
#define OUT_OF(node, of) (ek_out(node, 0))
#define OR_ALL(of, g)    ((void)(of), (channels){ 0, (g)->out_c }) /* known when it is compiled: less flash */
#endif

static inline channels all_channels(const ek_node *node)
{
    const ek_fmt_conv2d *p = node->params;
    return (channels){ 0, p->geometry.out_c };
}

/* The kernel's part of a line: kernel rows [first, end), of weights [taps][channels], with tables of all channels. */
static ek_depthwise part_of(const ek_node *node, const void *weights, size_t first, size_t end, channels of)
{
    const ek_fmt_conv2d *p = node->params;
    const ek_fmt_conv_geometry *g = &p->geometry;
    return (ek_depthwise){ .weights = (const ek_weight *)weights + first * g->kernel_w * OR_ALL(of, g).n,
                           EK_TAIL(node, p, g->out_c, g->out_c),
                           .taps = (uint32_t)(end - first) * g->kernel_w,
                           .c = OR_ALL(of, g).n };
}

/* The same, of the channels from `first` on. */
static inline void skip_tables(ek_depthwise *part, uint32_t first)
{
#ifdef EK_CODED
    ek_depthwise_skip(part, first);
#else
    (void)part, (void)first;
#endif
}

/* Moves the taps of a line to channel `first`. */
static inline void skip_channels(const void **tap, size_t taps, uint32_t first)
{
#ifdef EK_CODED
    for (size_t t = 0; first && t < taps; t++) tap[t] = (const ek_element *)tap[t] + first;
#else
    (void)tap, (void)taps, (void)first;
#endif
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
    const ek_fmt_conv2d *p = node->params;
    const ek_depthwise all =
        part_of(node, ek_weights_of(node, p->weights), 0, p->geometry.kernel_h, all_channels(node));
    ek_depthwise_pack(node->kernels, packed, &all);
}

static void run_packed(const ek_node *node, channels of)
{
    const ek_fmt_conv2d *p = node->params;
    const ek_fmt_conv_geometry *g = &p->geometry;
    const size_t c = g->out_c, in_image = (size_t)g->in_h * g->in_w * c * sizeof(ek_element);
    ek_depthwise all = part_of(node, node->packed, 0, g->kernel_h, of);
    skip_tables(&all, of.first);
    ek_window w = ek_conv_window(g, sizeof(ek_element), EK_FILL(p));
    ek_lines lines = ek_lines_init(g, &w, sizeof(ek_element), node->scratch, node->kernels->copy);
    ek_element *out = OUT_OF(node, of);
    for (size_t image = 0; image < g->batch; image++) {
        w.in = (const uint8_t *)ek_in(node, 0) + image * in_image;
        for (int32_t y = 0; y < w.out_h; y++, out += g->out_w * c) {
            ek_lines_point(&lines, y);
            skip_channels(lines.tap, taps_of(g), of.first);
            ek_depthwise_run(node->kernels, out, c, (const ek_element *const *)lines.tap, g->stride_w * c, g->out_w,
                             &all);
        }
    }
}

static inline void run_some(const ek_node *node, channels of)
{
    if (node->packed) {
        run_packed(node, of);
        return;
    }
    const ek_fmt_conv2d *p = node->params;
    const ek_fmt_conv_geometry *g = &p->geometry;
    const size_t c = g->out_c, in_image = (size_t)g->in_h * g->in_w * c * sizeof(ek_element);
    const ek_weight *weights = ek_weights_of(node, p->weights);
    ek_window w = ek_conv_window(g, sizeof(ek_element), EK_FILL(p));
    ek_taps taps = ek_taps_init(g, &w, node->scratch);
    void *spare = (uint8_t *)node->scratch + ek_taps_scratch(g, sizeof(ek_element));
    ek_element *out = OUT_OF(node, of);
    for (size_t image = 0; image < g->batch; image++) {
        w.in = (const uint8_t *)ek_in(node, 0) + image * in_image;
        for (int32_t y = 0; y < w.out_h; y++) {
            ek_taps_line(&taps, &w, y);
            ek_depthwise part = part_of(node, weights, (size_t)taps.first, (size_t)taps.end, of);
            skip_tables(&part, of.first);
            ek_depthwise_leave_out(&part, weights, p, spare, (size_t)taps.first * g->kernel_w,
                                   (size_t)taps.end * g->kernel_w);
            for (int32_t x = 0, pixels; x < w.out_w; x += pixels, out += (size_t)pixels * c) {
                pixels = ek_taps_point(&taps, &w, y, x);
                skip_channels(taps.tap, part.taps, of.first);
                ek_depthwise_run(node->kernels, out, c, (const ek_element *const *)taps.tap, g->stride_w * c,
                                 (size_t)pixels, &part);
            }
        }
    }
}

static ek_status depthwise_conv2d_run_plain(const ek_node *node)
{
    run_some(node, all_channels(node));
    return EK_OK;
}

#ifdef EK_CODED
static uint64_t decoded_bytes(const ek_fmt_conv_geometry *g)
{
    return ek_align16((uint64_t)taps_of(g) * g->out_c);
}

enum { ROOM = 2048 }; /* bytes, of weights that are decoded together */

/* The decoded weights of n channels, and as the kernels want them. */
static uint64_t depthwise_room(const ek_fmt_conv_geometry *g, const ek_kernels *kernels, uint32_t n)
{
    return ek_align16((uint64_t)taps_of(g) * n) + ek_depthwise_packed(kernels, taps_of(g), n);
}

/* Channels that are decoded together, in so many bytes. */
static uint32_t block_of(const ek_node *node, uint32_t room)
{
    const ek_fmt_conv2d *p = node->params;
    const ek_fmt_conv_geometry *g = &p->geometry;
#ifndef EK_NO_STREAMS
    const ek_codec *codec = ek_codec_of(node, p->codec.id);
    const uint32_t unit = p->codec.group;
    if (!codec || !codec->unpack_blocks || !unit || unit >= g->out_c) return g->out_c;
    if (depthwise_room(g, node->kernels, g->out_c) <= room) return g->out_c;
    uint32_t n = room / (taps_of(g) + !taps_of(g)) / unit * unit;
    while (n > unit && depthwise_room(g, node->kernels, n) > room) n -= unit;
    return n > unit ? n : unit;
#else
    (void)room;
    return g->out_c;
#endif
}

/* Too much where the kernels cannot pack weights. */
static uint64_t depthwise_conv2d_scratch(const ek_node *node)
{
    const ek_kernels *kernels = node->kernels;
    const ek_fmt_conv2d *p = node->params;
    const ek_fmt_conv_geometry *g = &p->geometry;
    const uint64_t plain = depthwise_conv2d_plain_scratch(g, kernels);
    if (!ek_is_coded(&p->codec)) return plain;
    if (ek_depthwise_wants_packed(kernels) && !ek_depthwise_can_pack(kernels)) return UINT64_MAX;
    return ek_add64(ek_align16(plain), depthwise_room(g, kernels, block_of(node, ROOM)));
}

static uint64_t depthwise_conv2d_packed_bytes(const ek_node *node)
{
    const ek_fmt_conv2d *p = node->params;
    const uint64_t plain = depthwise_conv2d_packed_plain(&p->geometry, node->kernels);
    return ek_is_coded(&p->codec) ? ek_coded_kept(node, plain, decoded_bytes(&p->geometry)) : plain;
}

static ek_coded depthwise_weights_of(const ek_node *node)
{
    const ek_fmt_conv2d *p = node->params;
    return ek_coded_of(node, p->weights, &p->codec, taps_of(&p->geometry));
}

static void decode(int8_t *plain, ek_coded *w, channels of, uint32_t all)
{
#ifndef EK_NO_STREAMS
    if (of.n < all) {
        w->codec->unpack_blocks(plain, w, of.first, of.n);
        return;
    }
#else
    (void)of;
#endif
    w->codec->unpack_taps(plain, w, all);
}

static void pack_from(const ek_node *node, void *packed, int8_t *plain, ek_coded *w, channels of)
{
    const ek_fmt_conv2d *p = node->params;
    decode(plain, w, of, p->geometry.out_c);
    if (!ek_depthwise_wants_packed(node->kernels)) return;
    ek_depthwise part = part_of(node, plain, 0, p->geometry.kernel_h, of);
    skip_tables(&part, of.first);
    ek_depthwise_pack(node->kernels, packed, &part);
}

/* To decode them before they are packed. */
static inline uint64_t depthwise_conv2d_pack_room(const ek_node *node)
{
    const ek_fmt_conv2d *p = node->params;
    const bool decodes = ek_is_coded(&p->codec) && ek_depthwise_wants_packed(node->kernels);
    return decodes ? decoded_bytes(&p->geometry) : 0;
}

static inline void depthwise_conv2d_pack(const ek_node *node, void *packed)
{
    const ek_fmt_conv2d *p = node->params;
    if (!ek_is_coded(&p->codec)) {
        depthwise_conv2d_pack_plain(node, packed);
        return;
    }
    ek_coded w = depthwise_weights_of(node);
    int8_t *plain = (int8_t *)packed + depthwise_conv2d_packed_plain(&p->geometry, node->kernels);
    pack_from(node, packed, plain, &w, all_channels(node));
}

static void run_blocks(const ek_node *node)
{
    const ek_fmt_conv2d *p = node->params;
    const ek_fmt_conv_geometry *g = &p->geometry;
    ek_coded w = depthwise_weights_of(node);
    uint8_t *const plain = (uint8_t *)node->scratch + ek_align16(depthwise_conv2d_plain_scratch(g, node->kernels));
#ifndef EK_NO_STREAMS
    const uint32_t more = ek_coded_room(node, ek_align16(depthwise_conv2d_plain_scratch(g, node->kernels)));
    const uint32_t block = block_of(node, more > ROOM ? more : ROOM);
#else
    const uint32_t block = block_of(node, ROOM);
#endif
    for (uint32_t first = 0; first < g->out_c; first += block) {
        const channels of = { first, g->out_c - first < block ? g->out_c - first : block };
        uint8_t *const packed = plain + ek_align16((uint64_t)taps_of(g) * of.n);
        ek_node n = ek_decoded(node, plain);
        pack_from(node, packed, (int8_t *)plain, &w, of);
        if (ek_depthwise_wants_packed(node->kernels)) n.packed = packed;
        run_some(&n, of);
    }
}

static ek_status depthwise_conv2d_run(const ek_node *node)
{
    const ek_fmt_conv2d *p = node->params;
    if (!ek_is_coded(&p->codec)) return depthwise_conv2d_run_plain(node);
    if (!node->packed) {
        run_blocks(node);
        return EK_OK;
    }
    ek_node n = ek_decoded(node, node->packed);
    if (ek_depthwise_wants_packed(node->kernels)) n.packed = node->packed;
    return depthwise_conv2d_run_plain(&n);
}
#else
static inline const ek_fmt_conv_geometry *depthwise_conv2d_geometry_of(const ek_node *node)
{
    return &((const ek_fmt_conv2d *)node->params)->geometry;
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
    EK_OP_CONSTANTS(ek_fmt_conv2d, depthwise_conv2d_table),
};

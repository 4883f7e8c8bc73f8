#include "layer.h"

#include "device.h"
#include "edgekit/format.h"

enum { LIMIT = 1 << 30 };

/* False, and `why` said. */
#define REFUSE(...) (ek_opencl_fail(why, EK_ERR_UNSUPPORTED, __VA_ARGS__), false)

static uint32_t ceil_div(uint64_t a, uint32_t b)
{
    return (uint32_t)((a + b - 1) / b);
}

static uint32_t word_of(const ek_opencl_config *c)
{
    return c->vec > c->lanes ? c->vec : c->lanes;
}

static bool in_arena(const ek_node *n)
{
    for (uint32_t i = 0; i < (uint32_t)n->op->inputs + n->op->outputs; i++) {
        const ek_fmt_tensor *t = ek_operand(n, i);
        if (!t || ek_type_of(n->model, t)->place != EK_PLACE_ARENA) return false;
    }
    return true;
}

/* Where tensors lie, and what every convolution writes. */
static void set_places(ek_layer *l, const ek_node *n, const ek_fmt_conv_geometry *g, uint32_t group_channels)
{
    l->read.at = ek_in_tensor(n, 0)->offset;
    l->read.images = l->window.images = l->write.images = g->batch;
    l->read.image_step = g->in_h * g->in_w * g->in_c;
    l->write.at = ek_out_tensor(n, 0)->offset;
    l->write.image_step = l->write.bytes = g->out_h * g->out_w * g->out_c;
    l->write.count = g->out_h * g->out_w;
    l->write.pixel_step = g->out_c;
    l->write.group_channels = group_channels;
}

static void set_requant(ek_layer *l, const ek_fmt_requant *r)
{
    l->weights.quantized = 1;
    l->requant.mode = EK_REQUANT_SCALE;
    l->requant.zero = r->output_zero;
    l->requant.qmin = r->qmin;
    l->requant.qmax = r->qmax;
    l->window.fill = r->input_zero;
}

/* The ring of input lines: rows that one output row reads, and those that the next brings. */
static bool set_lines(ek_layer *l, const ek_fmt_conv_geometry *g, const ek_opencl_config *c, ek_opencl_error *why)
{
    const uint64_t line = (uint64_t)g->in_w * g->in_c, span = (uint64_t)(g->kernel_h - 1) * g->dilation_h + 1;
    const int64_t end = (int64_t)(g->out_h - 1) * g->stride_h + (int64_t)span - g->pad_top;
    ek_window_arguments *w = &l->window;
    w->in_h = (int32_t)g->in_h;
    w->top = -(int32_t)g->pad_top;
    w->row_end = end > (int64_t)g->in_h ? (int32_t)g->in_h : end > 0 ? (int32_t)end : 0;
    w->out_rows = g->out_h;
    w->stride_h = g->stride_h;
    w->dilation_h = g->dilation_h;
    w->kernel_h = g->kernel_h;
    w->line_bytes = (uint32_t)line;
    w->line_words = ceil_div(line, word_of(c));
    w->slots = c->line_words / w->line_words;
    w->column_start = -(int32_t)g->pad_left * (int32_t)g->in_c;
    l->read.rows = (uint32_t)w->row_end;
    l->read.row_step = (uint32_t)line;
    l->read.parts = w->line_words;
    l->read.part_step = word_of(c);
    if (w->slots < span + g->stride_h)
        return REFUSE("its input lines take %u words and %u of them are needed at a time; the line buffer has %u "
                      "(EK_LINE_WORDS)",
                      (unsigned)w->line_words, (unsigned)(span + g->stride_h), (unsigned)c->line_words);
    const uint64_t reach = (uint64_t)g->out_w * g->stride_w + (uint64_t)g->kernel_w * g->dilation_w + g->pad_left;
    return line < LIMIT && reach * g->in_c < LIMIT ? true : REFUSE("it is too large");
}

static uint64_t taps_of(const ek_fmt_conv_geometry *g)
{
    return (uint64_t)g->kernel_h * ((uint64_t)(g->kernel_w - 1) * g->dilation_w + 1);
}

static void set_depthwise(ek_layer *l, const ek_fmt_conv_geometry *g, const ek_opencl_config *c)
{
    const uint32_t span = (uint32_t)(g->kernel_w - 1) * g->dilation_w + 1;
    l->tiles = ceil_div(g->out_c, c->lanes);
    l->window.group_tiles = 1;
    l->window.group_step = c->lanes;
    l->window.columns = (g->out_w - 1) * g->stride_w + span;
    l->window.column_step = g->in_c;
    l->window.segments = l->window.parts = 1;
    l->mac.mode = EK_MAC_DEPTHWISE;
    l->mac.steps = ceil_div(taps_of(g), c->vec);
    l->mac.keep = 1;
    l->mac.first_shifts = span * g->kernel_h;
    l->mac.shifts = (uint32_t)g->stride_w * g->kernel_h;
    l->write.group_tiles = l->tiles;
}

static bool set_dense(ek_layer *l, const ek_fmt_conv_geometry *g, const ek_opencl_config *c)
{
    const uint32_t in = g->in_c / g->groups, out = g->out_c / g->groups;
    const bool merged = g->dilation_w == 1 && g->groups == 1;
    const uint32_t segment = merged ? g->kernel_w * in : in;
    ek_window_arguments *w = &l->window;
    w->group_tiles = l->write.group_tiles = ceil_div(out, c->lanes);
    w->group_step = in;
    l->tiles = w->group_tiles * g->groups;
    w->columns = g->out_w;
    w->column_step = (uint32_t)g->stride_w * g->in_c;
    w->segments = merged ? 1 : g->kernel_w;
    w->segment_step = (uint32_t)g->dilation_w * g->in_c;
    w->parts = ceil_div(segment, c->vec);
    const uint64_t steps = (uint64_t)g->kernel_h * w->segments * w->parts;
    l->mac.mode = EK_MAC_CONV;
    l->mac.steps = (uint32_t)steps;
    l->mac.keep = steps <= c->weight_words;
    return steps * l->tiles * c->vec * c->lanes < LIMIT;
}

static bool set_conv(ek_layer *l, const ek_node *n, const ek_fmt_conv_geometry *g, const ek_fmt_requant *r,
                     bool depthwise, const ek_opencl_config *c, ek_opencl_error *why)
{
    if (!set_lines(l, g, c, why)) return false;
    set_places(l, n, g, depthwise ? g->out_c : g->out_c / g->groups);
    set_requant(l, r);
    if (depthwise)
        set_depthwise(l, g, c);
    else if (!set_dense(l, g, c))
        return REFUSE("its weights are too large");
    const uint64_t emits = (uint64_t)l->window.columns * g->kernel_h * l->window.segments * l->window.parts;
    const uint64_t lines = (uint64_t)g->batch * g->out_h;
    if (lines * g->out_w >= LIMIT || emits >= LIMIT) return REFUSE("it is too large");
    l->mac.lines = (uint32_t)lines;
    l->mac.pixels = g->out_w;
    l->requant.count = l->mac.lines * l->mac.pixels;
    const uint64_t words = (uint64_t)g->batch * l->read.rows * l->read.parts, taps = lines * emits;
    l->link_bytes = (words > taps ? words : taps) * word_of(c);
    return true;
}

static bool set_fully_connected(ek_layer *l, const ek_node *n, const ek_opencl_config *c, ek_opencl_error *why)
{
    const ek_fmt_fully_connected *p = n->params;
    if (p->k > UINT16_MAX || p->n > UINT16_MAX) return REFUSE("it is too wide");
    const ek_fmt_conv_geometry g = { .in_h = p->rows,
                                     .in_w = 1,
                                     .out_h = p->rows,
                                     .out_w = 1,
                                     .batch = 1,
                                     .in_c = (uint16_t)p->k,
                                     .out_c = (uint16_t)p->n,
                                     .groups = 1,
                                     .kernel_h = 1,
                                     .kernel_w = 1,
                                     .stride_h = 1,
                                     .stride_w = 1,
                                     .dilation_h = 1,
                                     .dilation_w = 1 };
    return set_conv(l, n, &g, &p->requant, false, c, why);
}

static bool set_add(ek_layer *l, const ek_node *n, const ek_opencl_config *c, ek_opencl_error *why)
{
    const ek_fmt_add *p = n->params;
    const ek_fmt_tensor *a = ek_in_tensor(n, 0), *b = ek_in_tensor(n, 1), *out = ek_out_tensor(n, 0);
    const uint32_t bytes = ek_out_type(n, 0)->bytes;
    if (ek_in_type(n, 0)->bytes != bytes || ek_in_type(n, 1)->bytes != bytes) return REFUSE("it broadcasts");
    const uint32_t count = ceil_div(bytes, c->lanes);
    l->tiles = 1;
    l->read = (ek_read_arguments){ .at = a->offset,
                                   .images = 1,
                                   .rows = count,
                                   .row_step = c->lanes,
                                   .parts = 2,
                                   .part_step = b->offset - a->offset };
    l->mac = (ek_mac_arguments){ .mode = EK_MAC_ADD,
                                 .lines = count,
                                 .pixels = 1,
                                 .a_multiplier = p->a_multiplier,
                                 .b_multiplier = p->b_multiplier,
                                 .bias = p->bias };
    l->requant = (ek_requant_arguments){
        .mode = EK_REQUANT_SHIFT, .count = count, .shift = p->shift, .qmin = p->qmin, .qmax = p->qmax
    };
    l->write = (ek_write_arguments){ .at = out->offset,
                                     .group_tiles = 1,
                                     .group_channels = c->lanes,
                                     .images = 1,
                                     .count = count,
                                     .pixel_step = c->lanes,
                                     .bytes = bytes };
    const uint64_t words = (uint64_t)count * 2 * word_of(c);
    l->link_bytes = words;
    return true;
}

static bool set_pool(ek_layer *l, const ek_node *n, const ek_fmt_conv_geometry *g, const ek_opencl_config *c,
                     ek_opencl_error *why)
{
    const uint64_t span = (uint64_t)(g->kernel_h - 1) * g->dilation_h + 1, pixels = (uint64_t)g->in_h * g->in_w;
    const uint32_t slots = c->pool_words / g->in_w;
    if (slots < span || slots < g->stride_h)
        return REFUSE("its lines of %u pixels do not fit, %u at a time, the pooling buffer of %u (EK_POOL_WORDS)",
                      (unsigned)g->in_w, (unsigned)(span > g->stride_h ? span : g->stride_h), (unsigned)c->pool_words);
    if (pixels * g->batch >= LIMIT) return REFUSE("it is too large");
    set_places(l, n, g, g->in_c);
    l->tiles = l->write.group_tiles = ceil_div(g->in_c, c->lanes);
    l->read.tile_step = c->lanes;
    l->read.rows = (uint32_t)pixels;
    l->read.row_step = g->in_c;
    l->read.parts = 1;
    l->mac.mode = EK_MAC_PASS;
    l->mac.lines = l->requant.count = (uint32_t)pixels * g->batch;
    l->mac.pixels = 1;
    l->requant.mode = EK_REQUANT_PASS;
    l->requant.qmin = INT8_MIN;
    l->requant.qmax = INT8_MAX;
    l->pool = (ek_pool_arguments){ .mode = EK_POOL_MAX,
                                   .in_h = g->in_h,
                                   .in_w = g->in_w,
                                   .out_h = g->out_h,
                                   .out_w = g->out_w,
                                   .kernel_h = g->kernel_h,
                                   .kernel_w = g->kernel_w,
                                   .stride_h = g->stride_h,
                                   .stride_w = g->stride_w,
                                   .dilation_h = g->dilation_h,
                                   .dilation_w = g->dilation_w,
                                   .pad_top = g->pad_top,
                                   .pad_left = g->pad_left,
                                   .slots = slots,
                                   .counts = 1,
                                   .qmin = INT8_MIN,
                                   .qmax = INT8_MAX };
    l->link_bytes = l->mac.lines * (uint64_t)word_of(c);
    return true;
}

static bool set_mean(ek_layer *l, const ek_node *n, const ek_opencl_config *c, ek_opencl_error *why)
{
    const ek_fmt_avg_pool2d *p = n->params;
    if (!set_pool(l, n, &p->geometry, c, why)) return false;
    l->pool.mode = EK_POOL_MEAN;
    l->pool.counts = p->counts;
    l->pool.in_zero = p->input_zero;
    l->pool.out_zero = p->output_zero;
    l->pool.qmin = p->qmin;
    l->pool.qmax = p->qmax;
    return true;
}

static bool set_kind(ek_layer *l, const ek_node *n, const ek_opencl_config *c, ek_opencl_error *why)
{
    switch (n->op->kind) {
    case EK_OP_CONV2D: {
        const ek_fmt_conv2d *p = n->params;
        return set_conv(l, n, &p->geometry, &p->requant, false, c, why);
    }
    case EK_OP_CONV2D + EK_VARIANT: {
        const ek_fmt_conv2d *p = n->params;
        return set_conv(l, n, &p->geometry, &p->requant, taps_of(&p->geometry) <= c->taps, c, why);
    }
    case EK_OP_FULLY_CONNECTED: return set_fully_connected(l, n, c, why);
    case EK_OP_ADD: return set_add(l, n, c, why);
    case EK_OP_MAX_POOL2D: return set_pool(l, n, &((const ek_fmt_max_pool2d *)n->params)->geometry, c, why);
    default: return set_mean(l, n, c, why);
    }
}

/* Weights behind a codec stay on the host, which unpacks them. */
static bool has_kind(const ek_node *n)
{
    if (n->op->dtype != EK_DTYPE_INT8) return false;
    switch (n->op->kind) {
    case EK_OP_CONV2D:
    case EK_OP_CONV2D + EK_VARIANT: return !((const ek_fmt_conv2d *)n->params)->codec.id;
    case EK_OP_FULLY_CONNECTED: return !((const ek_fmt_fully_connected *)n->params)->codec.id;
    case EK_OP_ADD:
    case EK_OP_MAX_POOL2D:
    case EK_OP_AVG_POOL2D: return true;
    default: return false;
    }
}

bool ek_layer_of(ek_layer *layer, const ek_node *node, const ek_opencl_config *config, ek_opencl_error *why)
{
    memset(layer, 0, sizeof *layer);
    if (!has_kind(node)) return REFUSE("the accelerator has no such operator");
    if (!in_arena(node)) return REFUSE("its operands are not all in the arena");
    if (!set_kind(layer, node, config, why)) return false;
    const uint64_t sums = (uint64_t)layer->requant.count * config->lanes * sizeof(int32_t);
    if (sums > layer->link_bytes) layer->link_bytes = sums;
    layer->weights.steps = layer->mac.steps;
    layer->weights.repeat = layer->mac.keep ? 1 : layer->requant.count;
    /* Divisors of stages that only pass on, which a compiler may move out of the branch. */
    if (!layer->window.group_tiles) layer->window.group_tiles = 1;
    if (!layer->window.slots) layer->window.slots = 1;
    if (!layer->pool.slots) layer->pool.slots = 1;
    ek_layer_slice(layer, 0, layer->tiles);
    return true;
}

void ek_layer_slice(ek_layer *l, uint32_t first, uint32_t end)
{
    const uint32_t tiles = end - first;
    l->read.tile_first = l->window.tile_first = l->weights.tile_first = l->mac.tile_first = first;
    l->requant.tile_first = l->write.tile_first = first;
    l->read.tile_end = l->window.tile_end = l->weights.tile_end = l->mac.tile_end = end;
    l->requant.tile_end = l->write.tile_end = end;
    const bool windowed = l->mac.mode == EK_MAC_CONV || l->mac.mode == EK_MAC_DEPTHWISE;
    l->window.pass = windowed ? 0 : tiles * l->read.images * l->read.rows * l->read.parts;
    l->pool.pass = l->pool.mode == EK_POOL_PASS ? tiles * l->requant.count : 0;
    l->pool.maps = l->pool.mode == EK_POOL_PASS ? 0 : tiles * l->read.images;
}

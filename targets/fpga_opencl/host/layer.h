/* An operator as the accelerator runs it: the kernels' arguments, in their order in edgekit.cl. */
#ifndef EK_OPENCL_LAYER_H
#define EK_OPENCL_LAYER_H

#include "model/model.h"
#include "opencl.h"

typedef struct ek_read_arguments {
    uint32_t at, tile_first, tile_end, tile_step, images, image_step, rows, row_step, parts, part_step;
} ek_read_arguments;

typedef struct ek_window_arguments {
    uint32_t pass, tile_first, tile_end, group_tiles, group_step, images;
    int32_t in_h, row_first, row_end, top;
    uint32_t out_rows, stride_h, dilation_h, kernel_h, line_bytes, line_words, slots, columns;
    int32_t column_start;
    uint32_t column_step, segments, segment_step, parts;
    int32_t fill;
} ek_window_arguments;

typedef struct ek_weights_arguments {
    uint32_t tile_first, tile_end, steps, repeat, quantized;
} ek_weights_arguments;

enum { EK_MAC_PASS, EK_MAC_ADD, EK_MAC_CONV, EK_MAC_DEPTHWISE };
typedef struct ek_mac_arguments {
    uint32_t mode, tile_first, tile_end, lines, pixels, steps, keep, first_shifts, shifts;
    int32_t a_multiplier, b_multiplier, bias;
} ek_mac_arguments;

enum { EK_REQUANT_PASS, EK_REQUANT_SHIFT, EK_REQUANT_SCALE };
typedef struct ek_requant_arguments {
    uint32_t mode, tile_first, tile_end, count;
    int32_t zero, shift, qmin, qmax;
} ek_requant_arguments;

enum { EK_POOL_PASS, EK_POOL_MAX, EK_POOL_MEAN };
typedef struct ek_pool_arguments {
    uint32_t mode, pass, maps, in_h, in_w, out_h, out_w, kernel_h, kernel_w, stride_h, stride_w, dilation_h, dilation_w;
    uint32_t pad_top, pad_left, slots, counts;
    int32_t in_zero, out_zero, qmin, qmax;
} ek_pool_arguments;

typedef struct ek_write_arguments {
    uint32_t at, tile_first, tile_end, group_tiles, group_channels, images, image_step, count, pixel_step, bytes;
} ek_write_arguments;

typedef struct ek_layer {
    ek_read_arguments read;
    ek_window_arguments window;
    ek_weights_arguments weights;
    ek_mac_arguments mac;
    ek_requant_arguments requant;
    ek_pool_arguments pool;
    ek_write_arguments write;
    uint32_t tiles;
    uint64_t link_bytes; /* of the largest link for one tile, where links are buffers */
} ek_layer;

/* The arguments for all tiles. False, and `why` said, when the accelerator cannot run the operator. */
bool ek_layer_of(ek_layer *layer, const ek_node *node, const ek_opencl_config *config, ek_opencl_error *why);
/* Let it run the tiles [first, end) only. */
void ek_layer_slice(ek_layer *layer, uint32_t first, uint32_t end);

/* Weights as the kernels take them, tile by tile: `steps` words of int8 [lanes][vec]; and int32
 * bias[lanes], multiplier[lanes], shift[lanes] a tile. Bytes of each; 0 for operators without. */
uint64_t ek_layer_weight_bytes(const ek_layer *layer, const ek_opencl_config *config);
uint64_t ek_layer_quant_bytes(const ek_layer *layer, const ek_opencl_config *config);
void ek_layer_pack_weights(int8_t *to, const ek_layer *layer, const ek_node *node, const ek_opencl_config *config);
void ek_layer_pack_quants(int32_t *to, const ek_layer *layer, const ek_node *node, const ek_opencl_config *config);
/* (multiplier, shift) of an average pooling, layer->pool.counts pairs. */
void ek_layer_pack_means(int32_t *to, const ek_layer *layer, const ek_node *node);

#endif

/* The .edge file as C sees it. Written by runtime_c/schema/emit.py from edge.fbs: do not edit. */
#ifndef EDGEKIT_FORMAT_H
#define EDGEKIT_FORMAT_H

#include <stdint.h>

#include "edgekit/types.h"

#if defined __cplusplus
#define EK_STATIC_ASSERT static_assert
#elif __STDC_VERSION__ >= 201112L
#define EK_STATIC_ASSERT _Static_assert
#else /* C99: an array of -1 elements does not compile */
#define EK_STATIC_ASSERT(is, text) extern const char ek_static_assert[(is) ? 1 : -1]
#endif

enum {
    EK_PLACE_ARENA = 0,
    EK_PLACE_BLOB = 1,
    EK_PLACE_PERSISTENT = 2,
};

enum {
    EK_UNARY_FN_CLIP = 0,
    EK_UNARY_FN_SIGMOID = 1,
    EK_UNARY_FN_TANH = 2,
    EK_UNARY_FN_EXP = 3,
    EK_UNARY_FN_LOG = 4,
    EK_UNARY_FN_SQRT = 5,
    EK_UNARY_FN_ABS = 6,
    EK_UNARY_FN_NEG = 7,
    EK_UNARY_FN_ERF = 8,
    EK_UNARY_FN_HARD_SIGMOID = 9,
    EK_UNARY_FN_HARD_SWISH = 10,
    EK_UNARY_FN_LEAKY_RELU = 11,
    EK_UNARY_FN_ELU = 12,
    EK_UNARY_FN_SELU = 13,
    EK_UNARY_FN_CELU = 14,
    EK_UNARY_FN_SOFTPLUS = 15,
    EK_UNARY_FN_SOFTSIGN = 16,
    EK_UNARY_FN_GELU = 17,
    EK_UNARY_FN_FLOOR = 18,
    EK_UNARY_FN_CEIL = 19,
    EK_UNARY_FN_ROUND = 20,
    EK_UNARY_FN_SIN = 21,
    EK_UNARY_FN_COS = 22,
    EK_UNARY_FN_RECIPROCAL = 23,
    EK_UNARY_FN_SIGN = 24,
    EK_UNARY_FN_GELU_TANH = 25,
    EK_UNARY_FN_MISH = 26,
    EK_UNARY_FN_THRESHOLDED_RELU = 27,
};

enum {
    EK_BINARY_FN_ADD = 0,
    EK_BINARY_FN_SUB = 1,
    EK_BINARY_FN_MUL = 2,
    EK_BINARY_FN_DIV = 3,
    EK_BINARY_FN_MIN = 4,
    EK_BINARY_FN_MAX = 5,
    EK_BINARY_FN_POW = 6,
    EK_BINARY_FN_PRELU = 7,
    EK_BINARY_FN_LESS = 8,
    EK_BINARY_FN_LESS_OR_EQUAL = 9,
    EK_BINARY_FN_EQUAL = 10,
};

enum {
    EK_COMPARE_FN_EQUAL = 0,
    EK_COMPARE_FN_LESS = 1,
    EK_COMPARE_FN_LESS_OR_EQUAL = 2,
    EK_COMPARE_FN_AND = 3,
    EK_COMPARE_FN_OR = 4,
    EK_COMPARE_FN_XOR = 5,
};

enum {
    EK_REDUCE_FN_MEAN = 0,
    EK_REDUCE_FN_SUM = 1,
    EK_REDUCE_FN_MAX = 2,
    EK_REDUCE_FN_MIN = 3,
    EK_REDUCE_FN_PROD = 4,
    EK_REDUCE_FN_SUM_SQUARE = 5,
    EK_REDUCE_FN_L1 = 6,
    EK_REDUCE_FN_L2 = 7,
};

enum {
    EK_MATH_FN_AND = 0,
    EK_MATH_FN_OR = 1,
    EK_MATH_FN_XOR = 2,
    EK_MATH_FN_SHIFT_LEFT = 3,
    EK_MATH_FN_SHIFT_RIGHT = 4,
    EK_MATH_FN_MOD = 5,
    EK_MATH_FN_FMOD = 6,
    EK_MATH_FN_BITS = 7,
    EK_MATH_FN_ACOS = 8,
    EK_MATH_FN_ACOSH = 9,
    EK_MATH_FN_ASIN = 10,
    EK_MATH_FN_ASINH = 11,
    EK_MATH_FN_ATAN = 12,
    EK_MATH_FN_ATANH = 13,
    EK_MATH_FN_COSH = 14,
    EK_MATH_FN_SINH = 15,
    EK_MATH_FN_TAN = 16,
};

enum {
    EK_SCATTER_FN_REPLACE = 0,
    EK_SCATTER_FN_ADD = 1,
    EK_SCATTER_FN_MUL = 2,
    EK_SCATTER_FN_MIN = 3,
    EK_SCATTER_FN_MAX = 4,
};

enum {
    EK_WEIGHT_CODEC_PLAIN = 0,
    EK_WEIGHT_CODEC_NIBBLES = 1,
    EK_WEIGHT_CODEC_CRUMBS = 2,
    EK_WEIGHT_CODEC_HUFFMAN = 3,
};

enum {
    EK_DISTANCE_FN_SQUARED_EUCLIDEAN = 0,
    EK_DISTANCE_FN_EUCLIDEAN = 1,
    EK_DISTANCE_FN_MANHATTAN = 2,
};

enum {
    EK_TREE_AGGREGATE_SUM = 0,
    EK_TREE_AGGREGATE_AVERAGE = 1,
    EK_TREE_AGGREGATE_MIN = 2,
    EK_TREE_AGGREGATE_MAX = 3,
};

enum {
    EK_RECURRENT_CELL_RNN = 0,
    EK_RECURRENT_CELL_GRU = 1,
    EK_RECURRENT_CELL_LSTM = 2,
};

enum {
    EK_RECURRENT_FN_SIGMOID = 0,
    EK_RECURRENT_FN_TANH = 1,
    EK_RECURRENT_FN_RELU = 2,
    EK_RECURRENT_FN_AFFINE = 3,
    EK_RECURRENT_FN_LEAKY_RELU = 4,
    EK_RECURRENT_FN_THRESHOLDED_RELU = 5,
    EK_RECURRENT_FN_SCALED_TANH = 6,
    EK_RECURRENT_FN_HARD_SIGMOID = 7,
    EK_RECURRENT_FN_ELU = 8,
    EK_RECURRENT_FN_SOFTSIGN = 9,
    EK_RECURRENT_FN_SOFTPLUS = 10,
};

enum {
    EK_RECURRENT_OUTPUT_HIDDEN = 1,
    EK_RECURRENT_OUTPUT_LAST_HIDDEN = 2,
    EK_RECURRENT_OUTPUT_LAST_CELL = 4,
    EK_RECURRENT_OUTPUT_CELLS = 8,
    EK_RECURRENT_OUTPUT_GATES = 16,
};

enum {
    EK_RECURRENT_FLAG_REVERSE = 1,
    EK_RECURRENT_FLAG_RESET_AFTER = 2,
    EK_RECURRENT_FLAG_COUPLED = 4,
    EK_RECURRENT_FLAG_PEEPHOLES = 8,
};

enum {
    EK_REGION_FN_IF = 0,
    EK_REGION_FN_ELSE = 1,
    EK_REGION_FN_END_IF = 2,
    EK_REGION_FN_LOOP = 3,
    EK_REGION_FN_END_LOOP = 4,
};

enum {
    EK_PAD_MODE_CONSTANT = 0,
    EK_PAD_MODE_REFLECT = 1,
    EK_PAD_MODE_EDGE = 2,
};

enum {
    EK_TERM_END = 0,
    EK_TERM_NUMBER = 1,
    EK_TERM_SYMBOL = 2,
    EK_TERM_ADD = 3,
    EK_TERM_SUBTRACT = 4,
    EK_TERM_MULTIPLY = 5,
    EK_TERM_DIVIDE = 6,
    EK_TERM_MIN = 7,
    EK_TERM_MAX = 8,
    EK_TERM_QUOTIENT = 9,
};

enum {
    EK_SECTION_DIMS = 0,
    EK_SECTION_PROGRAM = 1,
    EK_SECTION_INPUT = 2,
    EK_SECTION_OUTPUT = 3,
};

typedef struct ek_fmt_conv_geometry {
    uint32_t in_h;
    uint32_t in_w;
    uint32_t out_h;
    uint32_t out_w;
    uint16_t batch;
    uint16_t in_c;
    uint16_t out_c;
    uint16_t groups;
    uint16_t kernel_h;
    uint16_t kernel_w;
    uint16_t stride_h;
    uint16_t stride_w;
    uint16_t dilation_h;
    uint16_t dilation_w;
    uint16_t pad_top;
    uint16_t pad_left;
} ek_fmt_conv_geometry;
EK_STATIC_ASSERT(sizeof(ek_fmt_conv_geometry) == 40, "ConvGeometry");

typedef struct ek_fmt_requant {
    uint32_t table;
    int16_t input_zero;
    int16_t output_zero;
    int32_t qmin;
    int32_t qmax;
    uint32_t tight;
} ek_fmt_requant;
EK_STATIC_ASSERT(sizeof(ek_fmt_requant) == 20, "Requant");

typedef struct ek_fmt_codec {
    uint16_t id;
    uint16_t group;
    uint32_t auxiliary;
} ek_fmt_codec;
EK_STATIC_ASSERT(sizeof(ek_fmt_codec) == 8, "Codec");

typedef struct ek_fmt_broadcast {
    uint32_t dims[4];
    uint32_t a[4];
    uint32_t b[4];
} ek_fmt_broadcast;
EK_STATIC_ASSERT(sizeof(ek_fmt_broadcast) == 48, "Broadcast");

typedef struct ek_fmt_axis_view {
    uint32_t outer;
    uint32_t axis;
    uint32_t inner;
} ek_fmt_axis_view;
EK_STATIC_ASSERT(sizeof(ek_fmt_axis_view) == 12, "AxisView");

typedef struct ek_fmt_conv2d {
    ek_fmt_conv_geometry geometry;
    uint32_t weights;
    ek_fmt_requant requant;
    ek_fmt_codec codec;
} ek_fmt_conv2d;
EK_STATIC_ASSERT(sizeof(ek_fmt_conv2d) == 72, "Conv2d");

typedef struct ek_fmt_conv_transpose2d {
    ek_fmt_conv_geometry geometry;
    uint32_t weights;
    ek_fmt_requant requant;
} ek_fmt_conv_transpose2d;
EK_STATIC_ASSERT(sizeof(ek_fmt_conv_transpose2d) == 64, "ConvTranspose2d");

typedef struct ek_fmt_fully_connected {
    uint32_t rows;
    uint32_t k;
    uint32_t n;
    uint32_t weights;
    ek_fmt_requant requant;
    ek_fmt_codec codec;
} ek_fmt_fully_connected;
EK_STATIC_ASSERT(sizeof(ek_fmt_fully_connected) == 44, "FullyConnected");

typedef struct ek_fmt_mat_mul {
    uint32_t batch;
    uint32_t rows;
    uint32_t k;
    uint32_t n;
    uint32_t a_step;
    uint32_t b_step;
    int32_t multiplier;
    int16_t shift;
    int16_t a_zero;
    int16_t b_zero;
    int16_t output_zero;
    int32_t qmin;
    int32_t qmax;
    uint32_t transpose_b;
} ek_fmt_mat_mul;
EK_STATIC_ASSERT(sizeof(ek_fmt_mat_mul) == 48, "MatMul");

typedef struct ek_fmt_add {
    ek_fmt_broadcast shape;
    int32_t a_multiplier;
    int32_t b_multiplier;
    int32_t bias;
    int32_t shift;
    int32_t qmin;
    int32_t qmax;
} ek_fmt_add;
EK_STATIC_ASSERT(sizeof(ek_fmt_add) == 72, "Add");

typedef struct ek_fmt_mul {
    ek_fmt_broadcast shape;
    int32_t multiplier;
    int16_t shift;
    int16_t a_zero;
    int16_t b_zero;
    int16_t output_zero;
    int32_t qmin;
    int32_t qmax;
} ek_fmt_mul;
EK_STATIC_ASSERT(sizeof(ek_fmt_mul) == 68, "Mul");

typedef struct ek_fmt_min_max {
    ek_fmt_broadcast shape;
    uint32_t is_max;
} ek_fmt_min_max;
EK_STATIC_ASSERT(sizeof(ek_fmt_min_max) == 52, "MinMax");

typedef struct ek_fmt_binary {
    ek_fmt_broadcast shape;
    uint32_t fn;
    int32_t qmin;
    int32_t qmax;
} ek_fmt_binary;
EK_STATIC_ASSERT(sizeof(ek_fmt_binary) == 60, "Binary");

typedef struct ek_fmt_prelu {
    ek_fmt_axis_view view;
    uint32_t table;
    int32_t multiplier;
    int32_t shift;
    int16_t input_zero;
    int16_t output_zero;
    int32_t qmin;
    int32_t qmax;
} ek_fmt_prelu;
EK_STATIC_ASSERT(sizeof(ek_fmt_prelu) == 36, "PRelu");

typedef struct ek_fmt_compare {
    ek_fmt_broadcast shape;
    uint16_t fn;
    uint16_t element;
} ek_fmt_compare;
EK_STATIC_ASSERT(sizeof(ek_fmt_compare) == 52, "Compare");

typedef struct ek_fmt_where {
    uint32_t dims[4];
    uint32_t condition[4];
    uint32_t a[4];
    uint32_t b[4];
    uint32_t element_bytes;
} ek_fmt_where;
EK_STATIC_ASSERT(sizeof(ek_fmt_where) == 68, "Where");

typedef struct ek_fmt_lut {
    uint32_t count;
    uint32_t table;
} ek_fmt_lut;
EK_STATIC_ASSERT(sizeof(ek_fmt_lut) == 8, "Lut");

typedef struct ek_fmt_channel_lut {
    uint32_t rows;
    uint32_t channels;
    uint32_t tables;
    uint32_t index;
    uint32_t table;
} ek_fmt_channel_lut;
EK_STATIC_ASSERT(sizeof(ek_fmt_channel_lut) == 20, "ChannelLut");

typedef struct ek_fmt_unary {
    uint32_t count;
    uint32_t fn;
    float alpha;
    float beta;
} ek_fmt_unary;
EK_STATIC_ASSERT(sizeof(ek_fmt_unary) == 16, "Unary");

typedef struct ek_fmt_max_pool2d {
    ek_fmt_conv_geometry geometry;
} ek_fmt_max_pool2d;
EK_STATIC_ASSERT(sizeof(ek_fmt_max_pool2d) == 40, "MaxPool2d");

typedef struct ek_fmt_avg_pool2d {
    ek_fmt_conv_geometry geometry;
    uint32_t table;
    uint32_t counts;
    int16_t input_zero;
    int16_t output_zero;
    int32_t qmin;
    int32_t qmax;
} ek_fmt_avg_pool2d;
EK_STATIC_ASSERT(sizeof(ek_fmt_avg_pool2d) == 60, "AvgPool2d");

typedef struct ek_fmt_reduce {
    ek_fmt_axis_view view;
    int32_t multiplier;
    int16_t shift;
    uint16_t fn;
    int16_t input_zero;
    int16_t output_zero;
    int32_t qmin;
    int32_t qmax;
} ek_fmt_reduce;
EK_STATIC_ASSERT(sizeof(ek_fmt_reduce) == 32, "Reduce");

typedef struct ek_fmt_softmax {
    ek_fmt_axis_view view;
    uint32_t table;
    uint32_t log;
} ek_fmt_softmax;
EK_STATIC_ASSERT(sizeof(ek_fmt_softmax) == 20, "Softmax");

typedef struct ek_fmt_layer_norm {
    ek_fmt_axis_view view;
    uint32_t table;
    uint32_t channels;
    uint32_t step;
    uint32_t epsilon_low;
    uint32_t epsilon_high;
    uint8_t centered;
    uint8_t widening;
    uint16_t radicand_shift;
    uint16_t shift;
    int16_t input_zero;
    int32_t qmin;
    int32_t qmax;
} ek_fmt_layer_norm;
EK_STATIC_ASSERT(sizeof(ek_fmt_layer_norm) == 48, "LayerNorm");

typedef struct ek_fmt_resize {
    uint32_t batch;
    uint32_t in_h;
    uint32_t in_w;
    uint32_t out_h;
    uint32_t out_w;
    uint32_t channels;
    uint32_t table;
    uint32_t linear;
} ek_fmt_resize;
EK_STATIC_ASSERT(sizeof(ek_fmt_resize) == 32, "Resize");

typedef struct ek_fmt_concat {
    uint32_t outer;
    uint32_t output_step;
} ek_fmt_concat;
EK_STATIC_ASSERT(sizeof(ek_fmt_concat) == 8, "Concat");

typedef struct ek_fmt_copy {
    uint32_t dims[6];
    int32_t strides[6];
    uint32_t offset;
    uint32_t element_bytes;
} ek_fmt_copy;
EK_STATIC_ASSERT(sizeof(ek_fmt_copy) == 56, "Copy");

typedef struct ek_fmt_pad {
    uint32_t in_dims[4];
    uint32_t before[4];
    uint32_t out_dims[4];
    uint16_t element_bytes;
    uint16_t mode;
    uint32_t value;
} ek_fmt_pad;
EK_STATIC_ASSERT(sizeof(ek_fmt_pad) == 56, "Pad");

typedef struct ek_fmt_gather {
    uint32_t outer;
    uint32_t axis;
    uint32_t inner_bytes;
    uint32_t count;
} ek_fmt_gather;
EK_STATIC_ASSERT(sizeof(ek_fmt_gather) == 16, "Gather");

typedef struct ek_fmt_arg_max {
    ek_fmt_axis_view view;
    uint16_t is_min;
    uint16_t last;
} ek_fmt_arg_max;
EK_STATIC_ASSERT(sizeof(ek_fmt_arg_max) == 16, "ArgMax");

typedef struct ek_fmt_cast {
    uint32_t count;
    uint16_t from;
    uint16_t to;
} ek_fmt_cast;
EK_STATIC_ASSERT(sizeof(ek_fmt_cast) == 8, "Cast");

typedef struct ek_fmt_convert {
    uint32_t count;
    uint16_t element;
    uint16_t saturate;
} ek_fmt_convert;
EK_STATIC_ASSERT(sizeof(ek_fmt_convert) == 8, "Convert");

typedef struct ek_fmt_dequantize {
    uint32_t count;
    float scale;
    int32_t zero;
} ek_fmt_dequantize;
EK_STATIC_ASSERT(sizeof(ek_fmt_dequantize) == 12, "Dequantize");

typedef struct ek_fmt_requantize {
    uint32_t count;
    int32_t multiplier;
    int32_t shift;
    int16_t input_zero;
    int16_t output_zero;
    int32_t qmin;
    int32_t qmax;
} ek_fmt_requantize;
EK_STATIC_ASSERT(sizeof(ek_fmt_requantize) == 24, "Requantize");

typedef struct ek_fmt_tree_ensemble {
    uint32_t rows;
    uint32_t features;
    uint32_t targets;
    uint32_t table;
    uint32_t scratch;
} ek_fmt_tree_ensemble;
EK_STATIC_ASSERT(sizeof(ek_fmt_tree_ensemble) == 20, "TreeEnsemble");

typedef struct ek_fmt_recurrent {
    uint32_t steps;
    uint32_t batch;
    uint32_t hidden;
    uint32_t weights;
    uint32_t table;
    ek_fmt_requant requant;
    uint32_t functions;
    uint16_t flags;
    uint8_t cell;
    uint8_t gives;
    ek_fmt_codec codec;
} ek_fmt_recurrent;
EK_STATIC_ASSERT(sizeof(ek_fmt_recurrent) == 56, "Recurrent");

typedef struct ek_fmt_distance {
    uint32_t rows;
    uint32_t columns;
    uint32_t features;
    uint32_t fn;
} ek_fmt_distance;
EK_STATIC_ASSERT(sizeof(ek_fmt_distance) == 16, "Distance");

typedef struct ek_fmt_pairwise_coupling {
    uint32_t rows;
    uint32_t classes;
} ek_fmt_pairwise_coupling;
EK_STATIC_ASSERT(sizeof(ek_fmt_pairwise_coupling) == 8, "PairwiseCoupling");

typedef struct ek_fmt_math {
    ek_fmt_broadcast shape;
    uint32_t fn;
} ek_fmt_math;
EK_STATIC_ASSERT(sizeof(ek_fmt_math) == 52, "Math");

typedef struct ek_fmt_scatter {
    uint32_t rows;
    uint32_t inner;
    uint32_t count;
    uint32_t fn;
} ek_fmt_scatter;
EK_STATIC_ASSERT(sizeof(ek_fmt_scatter) == 16, "Scatter");

typedef struct ek_fmt_top_k {
    ek_fmt_axis_view view;
    uint32_t k;
    uint32_t smallest;
} ek_fmt_top_k;
EK_STATIC_ASSERT(sizeof(ek_fmt_top_k) == 20, "TopK");

typedef struct ek_fmt_non_zero {
    uint32_t count;
    uint32_t most;
} ek_fmt_non_zero;
EK_STATIC_ASSERT(sizeof(ek_fmt_non_zero) == 8, "NonZero");

typedef struct ek_fmt_non_max_suppression {
    uint32_t batch;
    uint32_t boxes;
    uint32_t classes;
    uint32_t most;
    uint32_t centered;
} ek_fmt_non_max_suppression;
EK_STATIC_ASSERT(sizeof(ek_fmt_non_max_suppression) == 20, "NonMaxSuppression");

typedef struct ek_fmt_custom {
    uint32_t name;
    uint32_t name_bytes;
    uint32_t version;
    uint32_t attributes;
    uint32_t attribute_bytes;
    uint32_t scratch;
} ek_fmt_custom;
EK_STATIC_ASSERT(sizeof(ek_fmt_custom) == 24, "Custom");

typedef struct ek_fmt_region {
    uint32_t length;
    uint32_t back;
    uint32_t most;
    uint16_t fn;
    uint16_t strict;
} ek_fmt_region;
EK_STATIC_ASSERT(sizeof(ek_fmt_region) == 16, "Region");

typedef struct ek_fmt_tensor_type {
    uint32_t bytes;
    uint32_t dims;
    uint8_t rank;
    uint8_t dtype;
    uint8_t place;
    uint8_t reserved;
} ek_fmt_tensor_type;
EK_STATIC_ASSERT(sizeof(ek_fmt_tensor_type) == 12, "TensorType");

typedef struct ek_fmt_tensor {
    uint32_t offset;
    float scale;
    int16_t zero_point;
    uint16_t type;
} ek_fmt_tensor;
EK_STATIC_ASSERT(sizeof(ek_fmt_tensor) == 12, "Tensor");

typedef struct ek_fmt_memory {
    uint64_t macs;
    uint32_t arena_bytes;
    uint32_t scratch_bytes;
    uint32_t persistent_bytes;
    uint32_t arena_bound_bytes;
} ek_fmt_memory;
EK_STATIC_ASSERT(sizeof(ek_fmt_memory) == 24, "Memory");

typedef struct ek_fmt_checksums {
    uint32_t graph;
    uint32_t blob;
} ek_fmt_checksums;
EK_STATIC_ASSERT(sizeof(ek_fmt_checksums) == 8, "Checksums");

typedef struct ek_fmt_start {
    uint32_t initial;
    uint16_t tensor;
    uint16_t period;
} ek_fmt_start;
EK_STATIC_ASSERT(sizeof(ek_fmt_start) == 8, "Start");

typedef struct ek_fmt_varying {
    uint32_t at;
    uint32_t expression;
    uint32_t section;
} ek_fmt_varying;
EK_STATIC_ASSERT(sizeof(ek_fmt_varying) == 12, "Varying");

enum {
    EK_SLOT_IO_NAME = 4,
    EK_SLOT_IO_TENSOR = 6,
    EK_SLOT_IO_ONNX_DTYPE = 8,
    EK_SLOT_IO_SHAPE = 10,
    EK_SLOT_IO_LABELS = 12,
    EK_SLOT_IO_COUNTED_BY = 14,
    EK_SLOT_IO_COUNTED_AXIS = 16,
    EK_SLOT_IO_AXES = 18,
};

enum {
    EK_SLOT_STATE_INPUT = 4,
    EK_SLOT_STATE_OUTPUT = 6,
    EK_SLOT_STATE_TENSOR = 8,
};

enum {
    EK_SLOT_SYMBOL_NAME = 4,
    EK_SLOT_SYMBOL_LOWEST = 6,
    EK_SLOT_SYMBOL_HIGHEST = 8,
    EK_SLOT_SYMBOL_STEP = 10,
};

enum {
    EK_SLOT_PROVENANCE_PRODUCER = 4,
    EK_SLOT_PROVENANCE_MODEL_SHA256 = 6,
    EK_SLOT_PROVENANCE_CALIBRATION_SHA256 = 8,
    EK_SLOT_PROVENANCE_OPTIONS = 10,
};

enum {
    EK_SLOT_PRUNED_OP = 4,
    EK_SLOT_PRUNED_CHANNELS = 6,
    EK_SLOT_PRUNED_KEPT = 8,
};

enum {
    EK_SLOT_MODEL_VERSION = 4,
    EK_SLOT_MODEL_TARGET = 6,
    EK_SLOT_MODEL_MEMORY = 8,
    EK_SLOT_MODEL_CHECKSUMS = 10,
    EK_SLOT_MODEL_TENSORS = 12,
    EK_SLOT_MODEL_TYPES = 14,
    EK_SLOT_MODEL_DIMS = 16,
    EK_SLOT_MODEL_PROGRAM = 18,
    EK_SLOT_MODEL_OPS = 20,
    EK_SLOT_MODEL_INPUTS = 22,
    EK_SLOT_MODEL_OUTPUTS = 24,
    EK_SLOT_MODEL_NAMES = 26,
    EK_SLOT_MODEL_PROVENANCE = 28,
    EK_SLOT_MODEL_BLOB = 30,
    EK_SLOT_MODEL_PRUNED = 32,
    EK_SLOT_MODEL_PLACEMENT = 34,
    EK_SLOT_MODEL_STARTS = 36,
    EK_SLOT_MODEL_STATES = 38,
    EK_SLOT_MODEL_EMPTY_INPUTS = 40,
    EK_SLOT_MODEL_EMPTY_OUTPUTS = 42,
    EK_SLOT_MODEL_SYMBOLS = 44,
    EK_SLOT_MODEL_EXPRESSIONS = 46,
    EK_SLOT_MODEL_VARYING = 48,
};

enum {
    EK_CODE_END = 0,
    EK_CODE_OPEN = 1,
    EK_CODE_CLOSE = 2,
    EK_CODE_UNSIGNED = 3,
    EK_CODE_SIGNED = 4,
    EK_CODE_RAW = 5,
    EK_CODE_EQUAL = 6,
    EK_CODE_EQUAL_SIGNED = 7,
};

enum {
    EK_PROPERTY_DIM0 = 0,
    EK_PROPERTY_DIM1 = 1,
    EK_PROPERTY_DIM2 = 2,
    EK_PROPERTY_DIM3 = 3,
    EK_PROPERTY_ZERO = 4,
    EK_PROPERTY_LOWEST = 5,
    EK_PROPERTY_HIGHEST = 6,
};

/* Bytes that parameters take while they are read, and how each kind reads its own. */
#define EK_PARAMS_BYTES 72
#define EK_CODE_OF_CONV2D "\001\166\001\002\021\022\116\000\003\023\353\013\002\063\057\004\024\067\025\026\023\062\056\034\034\026\034"
#define EK_CODE_OF_CONV_TRANSPOSE2D "\001\166\001\002\021\022\116\000\003\023\353\013\002\063\057\004\024\067\025\026\023"
#define EK_CODE_OF_FULLY_CONNECTED "\223\057\004\024\067\025\026\023\062\056\034\034\026\034"
#define EK_CODE_OF_MAT_MUL "\263\024\014\117\004\014\024\067\025\026\023"
#define EK_CODE_OF_ADD "\001\363\163\002\164\067\025\026"
#define EK_CODE_OF_MUL "\001\363\163\002\024\014\117\004\014\024\067\025\026"
#define EK_CODE_OF_MIN_MAX "\001\363\163\002\023"
#define EK_CODE_OF_PRELU "\001\123\002\023\064\057\004\024\067\025\026"
#define EK_CODE_OF_LUT "\063"
#define EK_CODE_OF_CHANNEL_LUT "\223"
#define EK_CODE_OF_BINARY "\001\363\163\002\023\067\025\026"
#define EK_CODE_OF_UNARY "\063\065"
#define EK_CODE_OF_COMPARE "\001\363\163\002\053"
#define EK_CODE_OF_WHERE "\363\363\023"
#define EK_CODE_OF_MAX_POOL2D "\001\166\001\002\021\022\116\000\003\023\353\013\002"
#define EK_CODE_OF_AVG_POOL2D "\001\166\001\002\021\022\116\000\003\023\353\013\002\063\057\004\024\067\025\026"
#define EK_CODE_OF_REDUCE "\001\123\002\024\014\013\057\004\024\067\025\026"
#define EK_CODE_OF_SOFTMAX "\001\123\002\063"
#define EK_CODE_OF_LAYER_NORM "\001\123\002\223\043\053\017\004\067\025\026"
#define EK_CODE_OF_ARG_MAX "\001\123\002\053"
#define EK_CODE_OF_RESIZE "\363"
#define EK_CODE_OF_CONCAT "\063"
#define EK_CODE_OF_COPY "\263\264\063"
#define EK_CODE_OF_PAD "\363\163\053\023"
#define EK_CODE_OF_GATHER "\163"
#define EK_CODE_OF_CAST "\023\053"
#define EK_CODE_OF_DEQUANTIZE "\023\025\024"
#define EK_CODE_OF_REQUANTIZE "\023\064\057\004\024\067\025\026"
#define EK_CODE_OF_TREE_ENSEMBLE "\126\000\001\021\063"
#define EK_CODE_OF_RECURRENT "\263\057\004\024\067\025\026\063\013\043\062\056\034\034\026\034"
#define EK_CODE_OF_CONVERT "\023\053"
#define EK_CODE_OF_DISTANCE "\163"
#define EK_CODE_OF_PAIRWISE_COUPLING "\063"
#define EK_CODE_OF_MATH "\001\363\163\002\023"
#define EK_CODE_OF_SCATTER "\163"
#define EK_CODE_OF_TOP_K "\001\123\002\063"
#define EK_CODE_OF_NON_ZERO "\063"
#define EK_CODE_OF_NON_MAX_SUPPRESSION "\223"
#define EK_CODE_OF_CUSTOM "\263"
#define EK_CODE_OF_REGION "\123\053"

/* What the number of a kind's variant is more. */
#define EK_VARIANT 128u

/* X(kind, whether the variant, dtype, name, may weights be coded) of every body. */
#define EK_FORMS(X) \
    X(CONV2D, 0, INT8, conv2d_s8, 1) \
    X(CONV2D, 0, INT16, conv2d_s16, 1) \
    X(CONV2D, 0, FLOAT32, conv2d_f32, 0) \
    X(CONV2D, 0, FLOAT16, conv2d_f16, 0) \
    X(CONV2D, 1, INT8, depthwise_conv2d_s8, 1) \
    X(CONV2D, 1, INT16, depthwise_conv2d_s16, 1) \
    X(CONV2D, 1, FLOAT32, depthwise_conv2d_f32, 0) \
    X(CONV2D, 1, FLOAT16, depthwise_conv2d_f16, 0) \
    X(CONV_TRANSPOSE2D, 0, INT8, conv_transpose2d_s8, 0) \
    X(CONV_TRANSPOSE2D, 0, INT16, conv_transpose2d_s16, 0) \
    X(CONV_TRANSPOSE2D, 0, FLOAT32, conv_transpose2d_f32, 0) \
    X(CONV_TRANSPOSE2D, 0, FLOAT16, conv_transpose2d_f16, 0) \
    X(FULLY_CONNECTED, 0, INT8, fully_connected_s8, 1) \
    X(FULLY_CONNECTED, 0, INT16, fully_connected_s16, 1) \
    X(FULLY_CONNECTED, 0, FLOAT32, fully_connected_f32, 0) \
    X(FULLY_CONNECTED, 0, FLOAT16, fully_connected_f16, 0) \
    X(MAT_MUL, 0, INT8, mat_mul_s8, 0) \
    X(MAT_MUL, 0, INT16, mat_mul_s16, 0) \
    X(MAT_MUL, 0, FLOAT32, mat_mul_f32, 0) \
    X(ADD, 0, INT8, add_s8, 0) \
    X(ADD, 0, INT16, add_s16, 0) \
    X(MUL, 0, INT8, mul_s8, 0) \
    X(MUL, 0, INT16, mul_s16, 0) \
    X(MIN_MAX, 0, INT8, min_max_s8, 0) \
    X(MIN_MAX, 0, INT16, min_max_s16, 0) \
    X(PRELU, 0, INT8, prelu_s8, 0) \
    X(PRELU, 0, INT16, prelu_s16, 0) \
    X(LUT, 0, INT8, lut_s8, 0) \
    X(LUT, 0, INT16, lut_s16, 0) \
    X(CHANNEL_LUT, 0, INT8, channel_lut_s8, 0) \
    X(CHANNEL_LUT, 0, INT16, channel_lut_s16, 0) \
    X(BINARY, 0, FLOAT32, binary_f32, 0) \
    X(BINARY, 0, INT32, binary_s32, 0) \
    X(BINARY, 0, INT64, binary_s64, 0) \
    X(BINARY, 0, UINT64, binary_u64, 0) \
    X(BINARY, 0, FLOAT64, binary_f64, 0) \
    X(BINARY, 0, INT8, binary_s8, 0) \
    X(BINARY, 0, INT16, binary_s16, 0) \
    X(UNARY, 0, FLOAT32, unary_f32, 0) \
    X(COMPARE, 0, ANY, compare, 0) \
    X(WHERE, 0, ANY, where, 0) \
    X(MAX_POOL2D, 0, INT8, max_pool2d_s8, 0) \
    X(MAX_POOL2D, 0, INT16, max_pool2d_s16, 0) \
    X(MAX_POOL2D, 0, FLOAT32, max_pool2d_f32, 0) \
    X(AVG_POOL2D, 0, INT8, avg_pool2d_s8, 0) \
    X(AVG_POOL2D, 0, INT16, avg_pool2d_s16, 0) \
    X(AVG_POOL2D, 0, FLOAT32, avg_pool2d_f32, 0) \
    X(REDUCE, 0, INT8, reduce_s8, 0) \
    X(REDUCE, 0, INT16, reduce_s16, 0) \
    X(REDUCE, 0, FLOAT32, reduce_f32, 0) \
    X(SOFTMAX, 0, INT8, softmax_s8, 0) \
    X(SOFTMAX, 0, INT16, softmax_s16, 0) \
    X(SOFTMAX, 0, FLOAT32, softmax_f32, 0) \
    X(LAYER_NORM, 0, INT8, layer_norm_s8, 0) \
    X(LAYER_NORM, 0, INT16, layer_norm_s16, 0) \
    X(LAYER_NORM, 0, FLOAT32, layer_norm_f32, 0) \
    X(ARG_MAX, 0, INT8, arg_max_s8, 0) \
    X(ARG_MAX, 0, INT16, arg_max_s16, 0) \
    X(ARG_MAX, 0, FLOAT32, arg_max_f32, 0) \
    X(RESIZE, 0, INT8, resize_s8, 0) \
    X(RESIZE, 0, INT16, resize_s16, 0) \
    X(RESIZE, 0, FLOAT32, resize_f32, 0) \
    X(CONCAT, 0, ANY, concat, 0) \
    X(COPY, 0, ANY, copy, 0) \
    X(PAD, 0, ANY, pad, 0) \
    X(GATHER, 0, ANY, gather, 0) \
    X(CAST, 0, ANY, cast, 0) \
    X(DEQUANTIZE, 0, INT8, dequantize_s8, 0) \
    X(DEQUANTIZE, 0, INT16, dequantize_s16, 0) \
    X(DEQUANTIZE, 1, INT8, quantize_s8, 0) \
    X(DEQUANTIZE, 1, INT16, quantize_s16, 0) \
    X(REQUANTIZE, 0, ANY, requantize, 0) \
    X(TREE_ENSEMBLE, 0, FLOAT32, tree_ensemble_f32, 0) \
    X(RECURRENT, 0, INT16, recurrent_s16, 1) \
    X(RECURRENT, 0, FLOAT32, recurrent_f32, 0) \
    X(CONVERT, 0, ANY, convert, 0) \
    X(DISTANCE, 0, FLOAT32, distance_f32, 0) \
    X(PAIRWISE_COUPLING, 0, FLOAT32, pairwise_coupling_f32, 0) \
    X(MATH, 0, FLOAT32, math_f32, 0) \
    X(MATH, 0, INT32, math_s32, 0) \
    X(MATH, 0, INT64, math_s64, 0) \
    X(MATH, 0, UINT64, math_u64, 0) \
    X(MATH, 0, FLOAT64, math_f64, 0) \
    X(SCATTER, 0, INT8, scatter_s8, 0) \
    X(SCATTER, 0, INT16, scatter_s16, 0) \
    X(SCATTER, 0, FLOAT32, scatter_f32, 0) \
    X(SCATTER, 0, INT32, scatter_s32, 0) \
    X(SCATTER, 0, INT64, scatter_s64, 0) \
    X(SCATTER, 0, UINT64, scatter_u64, 0) \
    X(SCATTER, 0, FLOAT64, scatter_f64, 0) \
    X(TOP_K, 0, INT8, top_k_s8, 0) \
    X(TOP_K, 0, INT16, top_k_s16, 0) \
    X(TOP_K, 0, FLOAT32, top_k_f32, 0) \
    X(TOP_K, 0, INT32, top_k_s32, 0) \
    X(TOP_K, 0, INT64, top_k_s64, 0) \
    X(TOP_K, 0, UINT64, top_k_u64, 0) \
    X(TOP_K, 0, FLOAT64, top_k_f64, 0) \
    X(NON_ZERO, 0, ANY, non_zero, 0) \
    X(NON_MAX_SUPPRESSION, 0, FLOAT32, non_max_suppression_f32, 0) \
    X(CUSTOM, 0, ANY, custom, 0) \
    X(REGION, 0, ANY, region, 0)

/* X(name) of every codec of weights: a file of src/weights. */
#define EK_CODECS(X) X(nibbles) X(crumbs) X(huffman)

/* X(kind, whether the variant, name) of every kind and variant. */
#define EK_KINDS(X) \
    X(CONV2D, 0, "Conv2d") \
    X(CONV2D, 1, "DepthwiseConv2d") \
    X(CONV_TRANSPOSE2D, 0, "ConvTranspose2d") \
    X(FULLY_CONNECTED, 0, "FullyConnected") \
    X(MAT_MUL, 0, "MatMul") \
    X(ADD, 0, "Add") \
    X(MUL, 0, "Mul") \
    X(MIN_MAX, 0, "MinMax") \
    X(PRELU, 0, "PRelu") \
    X(LUT, 0, "Lut") \
    X(CHANNEL_LUT, 0, "ChannelLut") \
    X(BINARY, 0, "Binary") \
    X(UNARY, 0, "Unary") \
    X(COMPARE, 0, "Compare") \
    X(WHERE, 0, "Where") \
    X(MAX_POOL2D, 0, "MaxPool2d") \
    X(AVG_POOL2D, 0, "AvgPool2d") \
    X(REDUCE, 0, "Reduce") \
    X(SOFTMAX, 0, "Softmax") \
    X(LAYER_NORM, 0, "LayerNorm") \
    X(ARG_MAX, 0, "ArgMax") \
    X(RESIZE, 0, "Resize") \
    X(CONCAT, 0, "Concat") \
    X(COPY, 0, "Copy") \
    X(PAD, 0, "Pad") \
    X(GATHER, 0, "Gather") \
    X(CAST, 0, "Cast") \
    X(DEQUANTIZE, 0, "Dequantize") \
    X(DEQUANTIZE, 1, "Quantize") \
    X(REQUANTIZE, 0, "Requantize") \
    X(TREE_ENSEMBLE, 0, "TreeEnsemble") \
    X(RECURRENT, 0, "Recurrent") \
    X(CONVERT, 0, "Convert") \
    X(DISTANCE, 0, "Distance") \
    X(PAIRWISE_COUPLING, 0, "PairwiseCoupling") \
    X(MATH, 0, "Math") \
    X(SCATTER, 0, "Scatter") \
    X(TOP_K, 0, "TopK") \
    X(NON_ZERO, 0, "NonZero") \
    X(NON_MAX_SUPPRESSION, 0, "NonMaxSuppression") \
    X(CUSTOM, 0, "Custom") \
    X(REGION, 0, "Region")

#endif

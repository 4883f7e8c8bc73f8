/* The .edge file as C sees it. Written by runtime_c/schema/emit.py from edge.fbs: do not edit. */
#ifndef EDGEKIT_FORMAT_H
#define EDGEKIT_FORMAT_H

#include <stdint.h>

#ifdef __cplusplus
#define EK_STATIC_ASSERT static_assert
#else
#define EK_STATIC_ASSERT _Static_assert
#endif

enum {
    EK_DTYPE_FLOAT32 = 0,
    EK_DTYPE_INT8 = 1,
    EK_DTYPE_INT16 = 2,
    EK_DTYPE_INT32 = 3,
    EK_DTYPE_UINT8 = 4,
};

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
    EK_PAD_MODE_CONSTANT = 0,
    EK_PAD_MODE_REFLECT = 1,
    EK_PAD_MODE_EDGE = 2,
};

enum {
    EK_OP_CONV2D_S8 = 1,
    EK_OP_CONV2D_F32 = 2,
    EK_OP_DEPTHWISE_CONV2D_S8 = 3,
    EK_OP_DEPTHWISE_CONV2D_F32 = 4,
    EK_OP_CONV_TRANSPOSE2D_S8 = 5,
    EK_OP_CONV_TRANSPOSE2D_F32 = 6,
    EK_OP_FULLY_CONNECTED_S8 = 7,
    EK_OP_FULLY_CONNECTED_F32 = 8,
    EK_OP_MAT_MUL_S8 = 9,
    EK_OP_MAT_MUL_F32 = 10,
    EK_OP_ADD_S8 = 11,
    EK_OP_MUL_S8 = 12,
    EK_OP_BINARY_F32 = 13,
    EK_OP_LUT_S8 = 14,
    EK_OP_UNARY_F32 = 15,
    EK_OP_MAX_POOL2D_S8 = 16,
    EK_OP_MAX_POOL2D_F32 = 17,
    EK_OP_AVG_POOL2D_S8 = 18,
    EK_OP_AVG_POOL2D_F32 = 19,
    EK_OP_REDUCE_S8 = 20,
    EK_OP_REDUCE_F32 = 21,
    EK_OP_SOFTMAX_S8 = 22,
    EK_OP_SOFTMAX_F32 = 23,
    EK_OP_RESIZE_S8 = 24,
    EK_OP_RESIZE_F32 = 25,
    EK_OP_CONCAT = 26,
    EK_OP_COPY = 27,
    EK_OP_PAD = 28,
    EK_OP_GATHER = 29,
    EK_OP_ARG_MAX_S8 = 30,
    EK_OP_ARG_MAX_F32 = 31,
    EK_OP_CAST = 32,
    EK_OP_QUANTIZE_S8 = 33,
    EK_OP_DEQUANTIZE_S8 = 34,
    EK_OP_MIN_MAX_S8 = 35,
    EK_OP_CONV2D_S16 = 36,
    EK_OP_DEPTHWISE_CONV2D_S16 = 37,
    EK_OP_CONV_TRANSPOSE2D_S16 = 38,
    EK_OP_FULLY_CONNECTED_S16 = 39,
    EK_OP_MAT_MUL_S16 = 40,
    EK_OP_ADD_S16 = 41,
    EK_OP_MUL_S16 = 42,
    EK_OP_LUT_S16 = 43,
    EK_OP_MAX_POOL2D_S16 = 44,
    EK_OP_AVG_POOL2D_S16 = 45,
    EK_OP_REDUCE_S16 = 46,
    EK_OP_SOFTMAX_S16 = 47,
    EK_OP_RESIZE_S16 = 48,
    EK_OP_ARG_MAX_S16 = 49,
    EK_OP_QUANTIZE_S16 = 50,
    EK_OP_DEQUANTIZE_S16 = 51,
    EK_OP_MIN_MAX_S16 = 52,
    EK_OP_REQUANTIZE = 53,
    EK_OP_PRELU_S8 = 54,
    EK_OP_PRELU_S16 = 55,
    EK_OP_CONV2D_W4 = 56,
    EK_OP_DEPTHWISE_CONV2D_W4 = 57,
    EK_OP_FULLY_CONNECTED_W4 = 58,
    EK_OP_BINARY_S32 = 59,
    EK_OP_COMPARE = 60,
    EK_OP_WHERE = 61,
    EK_OP_LAYER_NORM_S8 = 62,
    EK_OP_LAYER_NORM_S16 = 63,
    EK_OP_LAYER_NORM_F32 = 64,
    EK_OP_CHANNEL_LUT_S8 = 65,
    EK_OP_CHANNEL_LUT_S16 = 66,
    EK_OP_CONV2D_W4_S16 = 67,
    EK_OP_DEPTHWISE_CONV2D_W4_S16 = 68,
    EK_OP_FULLY_CONNECTED_W4_S16 = 69,
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
    int16_t qmin;
    int16_t qmax;
} ek_fmt_requant;
EK_STATIC_ASSERT(sizeof(ek_fmt_requant) == 12, "Requant");

typedef struct ek_fmt_requant16 {
    uint32_t table;
    int16_t qmin;
    int16_t qmax;
} ek_fmt_requant16;
EK_STATIC_ASSERT(sizeof(ek_fmt_requant16) == 8, "Requant16");

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

typedef struct ek_fmt_conv2d_s8 {
    ek_fmt_conv_geometry geometry;
    uint32_t weights;
    ek_fmt_requant requant;
} ek_fmt_conv2d_s8;
EK_STATIC_ASSERT(sizeof(ek_fmt_conv2d_s8) == 56, "Conv2dS8");

typedef struct ek_fmt_conv2d_s16 {
    ek_fmt_conv_geometry geometry;
    uint32_t weights;
    ek_fmt_requant16 requant;
} ek_fmt_conv2d_s16;
EK_STATIC_ASSERT(sizeof(ek_fmt_conv2d_s16) == 52, "Conv2dS16");

typedef struct ek_fmt_conv2d_f32 {
    ek_fmt_conv_geometry geometry;
    uint32_t weights;
    uint32_t bias;
    float min;
    float max;
} ek_fmt_conv2d_f32;
EK_STATIC_ASSERT(sizeof(ek_fmt_conv2d_f32) == 56, "Conv2dF32");

typedef struct ek_fmt_depthwise_conv2d_s8 {
    ek_fmt_conv_geometry geometry;
    uint32_t weights;
    ek_fmt_requant requant;
} ek_fmt_depthwise_conv2d_s8;
EK_STATIC_ASSERT(sizeof(ek_fmt_depthwise_conv2d_s8) == 56, "DepthwiseConv2dS8");

typedef struct ek_fmt_depthwise_conv2d_s16 {
    ek_fmt_conv_geometry geometry;
    uint32_t weights;
    ek_fmt_requant16 requant;
} ek_fmt_depthwise_conv2d_s16;
EK_STATIC_ASSERT(sizeof(ek_fmt_depthwise_conv2d_s16) == 52, "DepthwiseConv2dS16");

typedef struct ek_fmt_depthwise_conv2d_f32 {
    ek_fmt_conv_geometry geometry;
    uint32_t weights;
    uint32_t bias;
    float min;
    float max;
} ek_fmt_depthwise_conv2d_f32;
EK_STATIC_ASSERT(sizeof(ek_fmt_depthwise_conv2d_f32) == 56, "DepthwiseConv2dF32");

typedef struct ek_fmt_conv_transpose2d_s8 {
    ek_fmt_conv_geometry geometry;
    uint32_t weights;
    ek_fmt_requant requant;
} ek_fmt_conv_transpose2d_s8;
EK_STATIC_ASSERT(sizeof(ek_fmt_conv_transpose2d_s8) == 56, "ConvTranspose2dS8");

typedef struct ek_fmt_conv_transpose2d_s16 {
    ek_fmt_conv_geometry geometry;
    uint32_t weights;
    ek_fmt_requant16 requant;
} ek_fmt_conv_transpose2d_s16;
EK_STATIC_ASSERT(sizeof(ek_fmt_conv_transpose2d_s16) == 52, "ConvTranspose2dS16");

typedef struct ek_fmt_conv_transpose2d_f32 {
    ek_fmt_conv_geometry geometry;
    uint32_t weights;
    uint32_t bias;
    float min;
    float max;
} ek_fmt_conv_transpose2d_f32;
EK_STATIC_ASSERT(sizeof(ek_fmt_conv_transpose2d_f32) == 56, "ConvTranspose2dF32");

typedef struct ek_fmt_fully_connected_s8 {
    uint32_t rows;
    uint32_t k;
    uint32_t n;
    uint32_t weights;
    ek_fmt_requant requant;
} ek_fmt_fully_connected_s8;
EK_STATIC_ASSERT(sizeof(ek_fmt_fully_connected_s8) == 28, "FullyConnectedS8");

typedef struct ek_fmt_fully_connected_s16 {
    uint32_t rows;
    uint32_t k;
    uint32_t n;
    uint32_t weights;
    ek_fmt_requant16 requant;
} ek_fmt_fully_connected_s16;
EK_STATIC_ASSERT(sizeof(ek_fmt_fully_connected_s16) == 24, "FullyConnectedS16");

typedef struct ek_fmt_fully_connected_f32 {
    uint32_t rows;
    uint32_t k;
    uint32_t n;
    uint32_t weights;
    uint32_t bias;
    float min;
    float max;
} ek_fmt_fully_connected_f32;
EK_STATIC_ASSERT(sizeof(ek_fmt_fully_connected_f32) == 28, "FullyConnectedF32");

typedef struct ek_fmt_conv2d_w4 {
    ek_fmt_conv_geometry geometry;
    uint32_t weights;
    ek_fmt_requant requant;
    uint32_t group;
    uint32_t multipliers;
} ek_fmt_conv2d_w4;
EK_STATIC_ASSERT(sizeof(ek_fmt_conv2d_w4) == 64, "Conv2dW4");

typedef struct ek_fmt_depthwise_conv2d_w4 {
    ek_fmt_conv_geometry geometry;
    uint32_t weights;
    ek_fmt_requant requant;
    uint32_t group;
    uint32_t multipliers;
} ek_fmt_depthwise_conv2d_w4;
EK_STATIC_ASSERT(sizeof(ek_fmt_depthwise_conv2d_w4) == 64, "DepthwiseConv2dW4");

typedef struct ek_fmt_fully_connected_w4 {
    uint32_t rows;
    uint32_t k;
    uint32_t n;
    uint32_t weights;
    ek_fmt_requant requant;
    uint32_t group;
    uint32_t multipliers;
} ek_fmt_fully_connected_w4;
EK_STATIC_ASSERT(sizeof(ek_fmt_fully_connected_w4) == 36, "FullyConnectedW4");

typedef struct ek_fmt_conv2d_w4_s16 {
    ek_fmt_conv_geometry geometry;
    uint32_t weights;
    ek_fmt_requant16 requant;
    uint32_t group;
    uint32_t multipliers;
} ek_fmt_conv2d_w4_s16;
EK_STATIC_ASSERT(sizeof(ek_fmt_conv2d_w4_s16) == 60, "Conv2dW4S16");

typedef struct ek_fmt_depthwise_conv2d_w4_s16 {
    ek_fmt_conv_geometry geometry;
    uint32_t weights;
    ek_fmt_requant16 requant;
    uint32_t group;
    uint32_t multipliers;
} ek_fmt_depthwise_conv2d_w4_s16;
EK_STATIC_ASSERT(sizeof(ek_fmt_depthwise_conv2d_w4_s16) == 60, "DepthwiseConv2dW4S16");

typedef struct ek_fmt_fully_connected_w4_s16 {
    uint32_t rows;
    uint32_t k;
    uint32_t n;
    uint32_t weights;
    ek_fmt_requant16 requant;
    uint32_t group;
    uint32_t multipliers;
} ek_fmt_fully_connected_w4_s16;
EK_STATIC_ASSERT(sizeof(ek_fmt_fully_connected_w4_s16) == 32, "FullyConnectedW4S16");

typedef struct ek_fmt_mat_mul_s8 {
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
    int16_t qmin;
    int16_t qmax;
    uint16_t transpose_b;
    uint16_t reserved;
} ek_fmt_mat_mul_s8;
EK_STATIC_ASSERT(sizeof(ek_fmt_mat_mul_s8) == 44, "MatMulS8");

typedef struct ek_fmt_mat_mul_s16 {
    uint32_t batch;
    uint32_t rows;
    uint32_t k;
    uint32_t n;
    uint32_t a_step;
    uint32_t b_step;
    int32_t multiplier;
    uint16_t shift;
    uint16_t transpose_b;
    int16_t qmin;
    int16_t qmax;
} ek_fmt_mat_mul_s16;
EK_STATIC_ASSERT(sizeof(ek_fmt_mat_mul_s16) == 36, "MatMulS16");

typedef struct ek_fmt_mat_mul_f32 {
    uint32_t batch;
    uint32_t rows;
    uint32_t k;
    uint32_t n;
    uint32_t a_step;
    uint32_t b_step;
    uint32_t transpose_b;
} ek_fmt_mat_mul_f32;
EK_STATIC_ASSERT(sizeof(ek_fmt_mat_mul_f32) == 28, "MatMulF32");

typedef struct ek_fmt_add_s8 {
    ek_fmt_broadcast shape;
    int32_t a_multiplier;
    int32_t b_multiplier;
    int32_t bias;
    int16_t shift;
    int16_t qmin;
    int16_t qmax;
    uint16_t reserved;
} ek_fmt_add_s8;
EK_STATIC_ASSERT(sizeof(ek_fmt_add_s8) == 68, "AddS8");

typedef struct ek_fmt_mul_s8 {
    ek_fmt_broadcast shape;
    int32_t multiplier;
    int16_t shift;
    int16_t a_zero;
    int16_t b_zero;
    int16_t output_zero;
    int16_t qmin;
    int16_t qmax;
} ek_fmt_mul_s8;
EK_STATIC_ASSERT(sizeof(ek_fmt_mul_s8) == 64, "MulS8");

typedef struct ek_fmt_add_s16 {
    ek_fmt_broadcast shape;
    int32_t a_multiplier;
    int32_t b_multiplier;
    uint16_t shift;
    int16_t qmin;
    int16_t qmax;
    uint16_t reserved;
} ek_fmt_add_s16;
EK_STATIC_ASSERT(sizeof(ek_fmt_add_s16) == 64, "AddS16");

typedef struct ek_fmt_mul_s16 {
    ek_fmt_broadcast shape;
    int32_t multiplier;
    uint16_t shift;
    int16_t qmin;
    int16_t qmax;
    uint16_t reserved;
} ek_fmt_mul_s16;
EK_STATIC_ASSERT(sizeof(ek_fmt_mul_s16) == 60, "MulS16");

typedef struct ek_fmt_min_max_s8 {
    ek_fmt_broadcast shape;
    uint32_t is_max;
} ek_fmt_min_max_s8;
EK_STATIC_ASSERT(sizeof(ek_fmt_min_max_s8) == 52, "MinMaxS8");

typedef struct ek_fmt_min_max_s16 {
    ek_fmt_broadcast shape;
    uint32_t is_max;
} ek_fmt_min_max_s16;
EK_STATIC_ASSERT(sizeof(ek_fmt_min_max_s16) == 52, "MinMaxS16");

typedef struct ek_fmt_binary_f32 {
    ek_fmt_broadcast shape;
    uint16_t fn;
    uint16_t reserved;
    float min;
    float max;
} ek_fmt_binary_f32;
EK_STATIC_ASSERT(sizeof(ek_fmt_binary_f32) == 60, "BinaryF32");

typedef struct ek_fmt_prelu_s8 {
    ek_fmt_axis_view view;
    uint32_t table;
    int32_t multiplier;
    int16_t shift;
    int16_t input_zero;
    int16_t output_zero;
    int16_t qmin;
    int16_t qmax;
    uint16_t reserved;
} ek_fmt_prelu_s8;
EK_STATIC_ASSERT(sizeof(ek_fmt_prelu_s8) == 32, "PReluS8");

typedef struct ek_fmt_binary_s32 {
    ek_fmt_broadcast shape;
    uint32_t fn;
} ek_fmt_binary_s32;
EK_STATIC_ASSERT(sizeof(ek_fmt_binary_s32) == 52, "BinaryS32");

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

typedef struct ek_fmt_prelu_s16 {
    ek_fmt_axis_view view;
    uint32_t table;
    int32_t multiplier;
    int16_t shift;
    int16_t input_zero;
    int16_t output_zero;
    int16_t qmin;
    int16_t qmax;
    uint16_t reserved;
} ek_fmt_prelu_s16;
EK_STATIC_ASSERT(sizeof(ek_fmt_prelu_s16) == 32, "PReluS16");

typedef struct ek_fmt_lut_s8 {
    uint32_t count;
    uint32_t table;
} ek_fmt_lut_s8;
EK_STATIC_ASSERT(sizeof(ek_fmt_lut_s8) == 8, "LutS8");

typedef struct ek_fmt_lut_s16 {
    uint32_t count;
    uint32_t table;
} ek_fmt_lut_s16;
EK_STATIC_ASSERT(sizeof(ek_fmt_lut_s16) == 8, "LutS16");

typedef struct ek_fmt_channel_lut_s8 {
    uint32_t rows;
    uint32_t channels;
    uint32_t tables;
    uint32_t index;
    uint32_t table;
} ek_fmt_channel_lut_s8;
EK_STATIC_ASSERT(sizeof(ek_fmt_channel_lut_s8) == 20, "ChannelLutS8");

typedef struct ek_fmt_channel_lut_s16 {
    uint32_t rows;
    uint32_t channels;
    uint32_t tables;
    uint32_t index;
    uint32_t table;
} ek_fmt_channel_lut_s16;
EK_STATIC_ASSERT(sizeof(ek_fmt_channel_lut_s16) == 20, "ChannelLutS16");

typedef struct ek_fmt_unary_f32 {
    uint32_t count;
    uint16_t fn;
    uint16_t reserved;
    float alpha;
    float beta;
} ek_fmt_unary_f32;
EK_STATIC_ASSERT(sizeof(ek_fmt_unary_f32) == 16, "UnaryF32");

typedef struct ek_fmt_max_pool2d_s8 {
    ek_fmt_conv_geometry geometry;
} ek_fmt_max_pool2d_s8;
EK_STATIC_ASSERT(sizeof(ek_fmt_max_pool2d_s8) == 40, "MaxPool2dS8");

typedef struct ek_fmt_max_pool2d_s16 {
    ek_fmt_conv_geometry geometry;
} ek_fmt_max_pool2d_s16;
EK_STATIC_ASSERT(sizeof(ek_fmt_max_pool2d_s16) == 40, "MaxPool2dS16");

typedef struct ek_fmt_max_pool2d_f32 {
    ek_fmt_conv_geometry geometry;
} ek_fmt_max_pool2d_f32;
EK_STATIC_ASSERT(sizeof(ek_fmt_max_pool2d_f32) == 40, "MaxPool2dF32");

typedef struct ek_fmt_avg_pool2d_s8 {
    ek_fmt_conv_geometry geometry;
    uint32_t table;
    uint32_t counts;
    int16_t input_zero;
    int16_t output_zero;
    int16_t qmin;
    int16_t qmax;
} ek_fmt_avg_pool2d_s8;
EK_STATIC_ASSERT(sizeof(ek_fmt_avg_pool2d_s8) == 56, "AvgPool2dS8");

typedef struct ek_fmt_avg_pool2d_s16 {
    ek_fmt_conv_geometry geometry;
    uint32_t table;
    uint32_t counts;
    int16_t qmin;
    int16_t qmax;
} ek_fmt_avg_pool2d_s16;
EK_STATIC_ASSERT(sizeof(ek_fmt_avg_pool2d_s16) == 52, "AvgPool2dS16");

typedef struct ek_fmt_avg_pool2d_f32 {
    ek_fmt_conv_geometry geometry;
    uint32_t count_include_pad;
} ek_fmt_avg_pool2d_f32;
EK_STATIC_ASSERT(sizeof(ek_fmt_avg_pool2d_f32) == 44, "AvgPool2dF32");

typedef struct ek_fmt_reduce_s8 {
    ek_fmt_axis_view view;
    int32_t multiplier;
    int16_t shift;
    uint16_t fn;
    int16_t input_zero;
    int16_t output_zero;
    int16_t qmin;
    int16_t qmax;
} ek_fmt_reduce_s8;
EK_STATIC_ASSERT(sizeof(ek_fmt_reduce_s8) == 28, "ReduceS8");

typedef struct ek_fmt_reduce_s16 {
    ek_fmt_axis_view view;
    int32_t multiplier;
    uint16_t shift;
    uint16_t fn;
    int16_t qmin;
    int16_t qmax;
} ek_fmt_reduce_s16;
EK_STATIC_ASSERT(sizeof(ek_fmt_reduce_s16) == 24, "ReduceS16");

typedef struct ek_fmt_reduce_f32 {
    ek_fmt_axis_view view;
    uint32_t fn;
} ek_fmt_reduce_f32;
EK_STATIC_ASSERT(sizeof(ek_fmt_reduce_f32) == 16, "ReduceF32");

typedef struct ek_fmt_softmax_s8 {
    ek_fmt_axis_view view;
    uint32_t table;
} ek_fmt_softmax_s8;
EK_STATIC_ASSERT(sizeof(ek_fmt_softmax_s8) == 16, "SoftmaxS8");

typedef struct ek_fmt_softmax_s16 {
    ek_fmt_axis_view view;
    uint32_t table;
} ek_fmt_softmax_s16;
EK_STATIC_ASSERT(sizeof(ek_fmt_softmax_s16) == 16, "SoftmaxS16");

typedef struct ek_fmt_softmax_f32 {
    ek_fmt_axis_view view;
    uint32_t log;
} ek_fmt_softmax_f32;
EK_STATIC_ASSERT(sizeof(ek_fmt_softmax_f32) == 16, "SoftmaxF32");

typedef struct ek_fmt_layer_norm_s8 {
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
    int16_t qmin;
    int16_t qmax;
} ek_fmt_layer_norm_s8;
EK_STATIC_ASSERT(sizeof(ek_fmt_layer_norm_s8) == 44, "LayerNormS8");

typedef struct ek_fmt_layer_norm_s16 {
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
    int16_t qmin;
    int16_t qmax;
} ek_fmt_layer_norm_s16;
EK_STATIC_ASSERT(sizeof(ek_fmt_layer_norm_s16) == 44, "LayerNormS16");

typedef struct ek_fmt_layer_norm_f32 {
    ek_fmt_axis_view view;
    uint32_t table;
    uint32_t channels;
    uint32_t step;
    uint32_t centered;
    float epsilon;
    float min;
    float max;
} ek_fmt_layer_norm_f32;
EK_STATIC_ASSERT(sizeof(ek_fmt_layer_norm_f32) == 40, "LayerNormF32");

typedef struct ek_fmt_resize_s8 {
    uint32_t batch;
    uint32_t in_h;
    uint32_t in_w;
    uint32_t out_h;
    uint32_t out_w;
    uint32_t channels;
    uint32_t table;
    uint32_t linear;
} ek_fmt_resize_s8;
EK_STATIC_ASSERT(sizeof(ek_fmt_resize_s8) == 32, "ResizeS8");

typedef struct ek_fmt_resize_s16 {
    uint32_t batch;
    uint32_t in_h;
    uint32_t in_w;
    uint32_t out_h;
    uint32_t out_w;
    uint32_t channels;
    uint32_t table;
    uint32_t linear;
} ek_fmt_resize_s16;
EK_STATIC_ASSERT(sizeof(ek_fmt_resize_s16) == 32, "ResizeS16");

typedef struct ek_fmt_resize_f32 {
    uint32_t batch;
    uint32_t in_h;
    uint32_t in_w;
    uint32_t out_h;
    uint32_t out_w;
    uint32_t channels;
    uint32_t table;
    uint32_t linear;
} ek_fmt_resize_f32;
EK_STATIC_ASSERT(sizeof(ek_fmt_resize_f32) == 32, "ResizeF32");

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

typedef struct ek_fmt_arg_max_s8 {
    ek_fmt_axis_view view;
    uint16_t is_min;
    uint16_t last;
} ek_fmt_arg_max_s8;
EK_STATIC_ASSERT(sizeof(ek_fmt_arg_max_s8) == 16, "ArgMaxS8");

typedef struct ek_fmt_arg_max_s16 {
    ek_fmt_axis_view view;
    uint16_t is_min;
    uint16_t last;
} ek_fmt_arg_max_s16;
EK_STATIC_ASSERT(sizeof(ek_fmt_arg_max_s16) == 16, "ArgMaxS16");

typedef struct ek_fmt_arg_max_f32 {
    ek_fmt_axis_view view;
    uint16_t is_min;
    uint16_t last;
} ek_fmt_arg_max_f32;
EK_STATIC_ASSERT(sizeof(ek_fmt_arg_max_f32) == 16, "ArgMaxF32");

typedef struct ek_fmt_cast {
    uint32_t count;
    uint16_t from;
    uint16_t to;
} ek_fmt_cast;
EK_STATIC_ASSERT(sizeof(ek_fmt_cast) == 8, "Cast");

typedef struct ek_fmt_quantize_s8 {
    uint32_t count;
    float scale;
    int32_t zero;
} ek_fmt_quantize_s8;
EK_STATIC_ASSERT(sizeof(ek_fmt_quantize_s8) == 12, "QuantizeS8");

typedef struct ek_fmt_dequantize_s8 {
    uint32_t count;
    float scale;
    int32_t zero;
} ek_fmt_dequantize_s8;
EK_STATIC_ASSERT(sizeof(ek_fmt_dequantize_s8) == 12, "DequantizeS8");

typedef struct ek_fmt_quantize_s16 {
    uint32_t count;
    float scale;
} ek_fmt_quantize_s16;
EK_STATIC_ASSERT(sizeof(ek_fmt_quantize_s16) == 8, "QuantizeS16");

typedef struct ek_fmt_dequantize_s16 {
    uint32_t count;
    float scale;
} ek_fmt_dequantize_s16;
EK_STATIC_ASSERT(sizeof(ek_fmt_dequantize_s16) == 8, "DequantizeS16");

typedef struct ek_fmt_requantize {
    uint32_t count;
    int32_t multiplier;
    uint16_t shift;
    int16_t input_zero;
    int16_t output_zero;
    int16_t qmin;
    int16_t qmax;
    uint16_t reserved;
} ek_fmt_requantize;
EK_STATIC_ASSERT(sizeof(ek_fmt_requantize) == 20, "Requantize");

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

enum {
    EK_SLOT_IO_NAME = 4,
    EK_SLOT_IO_TENSOR = 6,
    EK_SLOT_IO_ONNX_DTYPE = 8,
    EK_SLOT_IO_SHAPE = 10,
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

/* Bytes of the largest parameters, and how each kind reads its own. */
#define EK_PARAMS_BYTES 68
#define EK_CODE_OF_CONV2D_S8 "\001\166\001\002\021\022\116\000\003\023\353\013\002\023\023\157\004\024\025\026"
#define EK_CODE_OF_CONV2D_F32 "\001\166\001\002\021\022\116\000\003\023\353\013\002\063\065"
#define EK_CODE_OF_DEPTHWISE_CONV2D_S8 "\001\166\001\002\021\022\116\000\003\023\353\013\002\023\023\157\004\024\025\026"
#define EK_CODE_OF_DEPTHWISE_CONV2D_F32 "\001\166\001\002\021\022\116\000\003\023\353\013\002\063\065"
#define EK_CODE_OF_CONV_TRANSPOSE2D_S8 "\001\166\001\002\021\022\116\000\003\023\353\013\002\023\023\157\004\024\025\026"
#define EK_CODE_OF_CONV_TRANSPOSE2D_F32 "\001\166\001\002\021\022\116\000\003\023\353\013\002\063\065"
#define EK_CODE_OF_FULLY_CONNECTED_S8 "\163\023\157\004\024\025\026"
#define EK_CODE_OF_FULLY_CONNECTED_F32 "\223\065"
#define EK_CODE_OF_MAT_MUL_S8 "\263\024\014\217\004\014\024\025\026\053"
#define EK_CODE_OF_MAT_MUL_F32 "\323"
#define EK_CODE_OF_ADD_S8 "\001\363\163\002\124\014\057\025\026\013"
#define EK_CODE_OF_MUL_S8 "\001\363\163\002\024\014\217\004\014\024\025\026"
#define EK_CODE_OF_BINARY_F32 "\001\363\163\002\053\065"
#define EK_CODE_OF_LUT_S8 "\063"
#define EK_CODE_OF_UNARY_F32 "\023\053\065"
#define EK_CODE_OF_MAX_POOL2D_S8 "\001\166\001\002\021\022\116\000\003\023\353\013\002"
#define EK_CODE_OF_MAX_POOL2D_F32 "\001\166\001\002\021\022\116\000\003\023\353\013\002"
#define EK_CODE_OF_AVG_POOL2D_S8 "\001\166\001\002\021\022\116\000\003\023\353\013\002\063\157\004\024\025\026"
#define EK_CODE_OF_AVG_POOL2D_F32 "\001\166\001\002\021\022\116\000\003\023\353\013\002\023"
#define EK_CODE_OF_REDUCE_S8 "\001\123\002\024\014\013\157\004\024\025\026"
#define EK_CODE_OF_REDUCE_F32 "\001\123\002\023"
#define EK_CODE_OF_SOFTMAX_S8 "\001\123\002\023"
#define EK_CODE_OF_SOFTMAX_F32 "\001\123\002\023"
#define EK_CODE_OF_RESIZE_S8 "\363"
#define EK_CODE_OF_RESIZE_F32 "\363"
#define EK_CODE_OF_CONCAT "\063"
#define EK_CODE_OF_COPY "\263\264\063"
#define EK_CODE_OF_PAD "\363\163\053\023"
#define EK_CODE_OF_GATHER "\163"
#define EK_CODE_OF_ARG_MAX_S8 "\001\123\002\053"
#define EK_CODE_OF_ARG_MAX_F32 "\001\123\002\053"
#define EK_CODE_OF_CAST "\023\053"
#define EK_CODE_OF_QUANTIZE_S8 "\023\025\024"
#define EK_CODE_OF_DEQUANTIZE_S8 "\023\025\024"
#define EK_CODE_OF_MIN_MAX_S8 "\001\363\163\002\023"
#define EK_CODE_OF_CONV2D_S16 "\001\166\001\002\021\022\116\000\003\023\353\013\002\023\023\057\025\026"
#define EK_CODE_OF_DEPTHWISE_CONV2D_S16 "\001\166\001\002\021\022\116\000\003\023\353\013\002\023\023\057\025\026"
#define EK_CODE_OF_CONV_TRANSPOSE2D_S16 "\001\166\001\002\021\022\116\000\003\023\353\013\002\023\023\057\025\026"
#define EK_CODE_OF_FULLY_CONNECTED_S16 "\163\023\057\025\026"
#define EK_CODE_OF_MAT_MUL_S16 "\263\024\053\057\025\026"
#define EK_CODE_OF_ADD_S16 "\001\363\163\002\064\013\057\025\026\013"
#define EK_CODE_OF_MUL_S16 "\001\363\163\002\024\013\057\025\026\013"
#define EK_CODE_OF_LUT_S16 "\063"
#define EK_CODE_OF_MAX_POOL2D_S16 "\001\166\001\002\021\022\116\000\003\023\353\013\002"
#define EK_CODE_OF_AVG_POOL2D_S16 "\001\166\001\002\021\022\116\000\003\023\353\013\002\063\057\025\026"
#define EK_CODE_OF_REDUCE_S16 "\001\123\002\024\053\057\025\026"
#define EK_CODE_OF_SOFTMAX_S16 "\001\123\002\023"
#define EK_CODE_OF_RESIZE_S16 "\363"
#define EK_CODE_OF_ARG_MAX_S16 "\001\123\002\053"
#define EK_CODE_OF_QUANTIZE_S16 "\023\025"
#define EK_CODE_OF_DEQUANTIZE_S16 "\023\025"
#define EK_CODE_OF_MIN_MAX_S16 "\001\363\163\002\023"
#define EK_CODE_OF_REQUANTIZE "\023\024\013\157\004\024\025\026\013"
#define EK_CODE_OF_PRELU_S8 "\001\123\002\023\024\014\157\004\024\025\026\013"
#define EK_CODE_OF_PRELU_S16 "\001\123\002\023\024\014\157\004\024\025\026\013"
#define EK_CODE_OF_CONV2D_W4 "\001\166\001\002\021\022\116\000\003\023\353\013\002\023\023\157\004\024\025\026\063"
#define EK_CODE_OF_DEPTHWISE_CONV2D_W4 "\001\166\001\002\021\022\116\000\003\023\353\013\002\023\023\157\004\024\025\026\063"
#define EK_CODE_OF_FULLY_CONNECTED_W4 "\163\023\157\004\024\025\026\063"
#define EK_CODE_OF_BINARY_S32 "\001\363\163\002\023"
#define EK_CODE_OF_COMPARE "\001\363\163\002\053"
#define EK_CODE_OF_WHERE "\363\363\023"
#define EK_CODE_OF_LAYER_NORM_S8 "\001\123\002\223\043\053\117\004\025\026"
#define EK_CODE_OF_LAYER_NORM_S16 "\001\123\002\223\043\053\117\004\025\026"
#define EK_CODE_OF_LAYER_NORM_F32 "\001\123\002\163\125"
#define EK_CODE_OF_CHANNEL_LUT_S8 "\223"
#define EK_CODE_OF_CHANNEL_LUT_S16 "\223"
#define EK_CODE_OF_CONV2D_W4_S16 "\001\166\001\002\021\022\116\000\003\023\353\013\002\023\023\057\025\026\063"
#define EK_CODE_OF_DEPTHWISE_CONV2D_W4_S16 "\001\166\001\002\021\022\116\000\003\023\353\013\002\023\023\057\025\026\063"
#define EK_CODE_OF_FULLY_CONNECTED_W4_S16 "\163\023\057\025\026\063"

/* EK_KINDS(X): X(kind, lower-case name, bytes of its parameters) for every kind. */
#define EK_KINDS(X) \
    X(CONV2D_S8, conv2d_s8, 56) \
    X(CONV2D_F32, conv2d_f32, 56) \
    X(DEPTHWISE_CONV2D_S8, depthwise_conv2d_s8, 56) \
    X(DEPTHWISE_CONV2D_F32, depthwise_conv2d_f32, 56) \
    X(CONV_TRANSPOSE2D_S8, conv_transpose2d_s8, 56) \
    X(CONV_TRANSPOSE2D_F32, conv_transpose2d_f32, 56) \
    X(FULLY_CONNECTED_S8, fully_connected_s8, 28) \
    X(FULLY_CONNECTED_F32, fully_connected_f32, 28) \
    X(MAT_MUL_S8, mat_mul_s8, 44) \
    X(MAT_MUL_F32, mat_mul_f32, 28) \
    X(ADD_S8, add_s8, 68) \
    X(MUL_S8, mul_s8, 64) \
    X(BINARY_F32, binary_f32, 60) \
    X(LUT_S8, lut_s8, 8) \
    X(UNARY_F32, unary_f32, 16) \
    X(MAX_POOL2D_S8, max_pool2d_s8, 40) \
    X(MAX_POOL2D_F32, max_pool2d_f32, 40) \
    X(AVG_POOL2D_S8, avg_pool2d_s8, 56) \
    X(AVG_POOL2D_F32, avg_pool2d_f32, 44) \
    X(REDUCE_S8, reduce_s8, 28) \
    X(REDUCE_F32, reduce_f32, 16) \
    X(SOFTMAX_S8, softmax_s8, 16) \
    X(SOFTMAX_F32, softmax_f32, 16) \
    X(RESIZE_S8, resize_s8, 32) \
    X(RESIZE_F32, resize_f32, 32) \
    X(CONCAT, concat, 8) \
    X(COPY, copy, 56) \
    X(PAD, pad, 56) \
    X(GATHER, gather, 16) \
    X(ARG_MAX_S8, arg_max_s8, 16) \
    X(ARG_MAX_F32, arg_max_f32, 16) \
    X(CAST, cast, 8) \
    X(QUANTIZE_S8, quantize_s8, 12) \
    X(DEQUANTIZE_S8, dequantize_s8, 12) \
    X(MIN_MAX_S8, min_max_s8, 52) \
    X(CONV2D_S16, conv2d_s16, 52) \
    X(DEPTHWISE_CONV2D_S16, depthwise_conv2d_s16, 52) \
    X(CONV_TRANSPOSE2D_S16, conv_transpose2d_s16, 52) \
    X(FULLY_CONNECTED_S16, fully_connected_s16, 24) \
    X(MAT_MUL_S16, mat_mul_s16, 36) \
    X(ADD_S16, add_s16, 64) \
    X(MUL_S16, mul_s16, 60) \
    X(LUT_S16, lut_s16, 8) \
    X(MAX_POOL2D_S16, max_pool2d_s16, 40) \
    X(AVG_POOL2D_S16, avg_pool2d_s16, 52) \
    X(REDUCE_S16, reduce_s16, 24) \
    X(SOFTMAX_S16, softmax_s16, 16) \
    X(RESIZE_S16, resize_s16, 32) \
    X(ARG_MAX_S16, arg_max_s16, 16) \
    X(QUANTIZE_S16, quantize_s16, 8) \
    X(DEQUANTIZE_S16, dequantize_s16, 8) \
    X(MIN_MAX_S16, min_max_s16, 52) \
    X(REQUANTIZE, requantize, 20) \
    X(PRELU_S8, prelu_s8, 32) \
    X(PRELU_S16, prelu_s16, 32) \
    X(CONV2D_W4, conv2d_w4, 64) \
    X(DEPTHWISE_CONV2D_W4, depthwise_conv2d_w4, 64) \
    X(FULLY_CONNECTED_W4, fully_connected_w4, 36) \
    X(BINARY_S32, binary_s32, 52) \
    X(COMPARE, compare, 52) \
    X(WHERE, where, 68) \
    X(LAYER_NORM_S8, layer_norm_s8, 44) \
    X(LAYER_NORM_S16, layer_norm_s16, 44) \
    X(LAYER_NORM_F32, layer_norm_f32, 40) \
    X(CHANNEL_LUT_S8, channel_lut_s8, 20) \
    X(CHANNEL_LUT_S16, channel_lut_s16, 20) \
    X(CONV2D_W4_S16, conv2d_w4_s16, 60) \
    X(DEPTHWISE_CONV2D_W4_S16, depthwise_conv2d_w4_s16, 60) \
    X(FULLY_CONNECTED_W4_S16, fully_connected_w4_s16, 32)

#endif

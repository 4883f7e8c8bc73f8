/* Numbers of the .edge file that the public interface names.
 * Written by runtime_c/schema/emit.py from edge.fbs: do not edit. */
#ifndef EDGEKIT_TYPES_H
#define EDGEKIT_TYPES_H

/* EK_DTYPE_*: the element type of a tensor. */
enum {
    EK_DTYPE_FLOAT32 = 0,
    EK_DTYPE_INT8 = 1,
    EK_DTYPE_INT16 = 2,
    EK_DTYPE_INT32 = 3,
    EK_DTYPE_UINT8 = 4,
    EK_DTYPE_FLOAT16 = 5,
    EK_DTYPE_FLOAT64 = 6,
    EK_DTYPE_INT64 = 7,
    EK_DTYPE_UINT64 = 8,
};

/* EK_OP_*: the kind of an operator. */
enum {
    EK_OP_CONV2D = 1,
    EK_OP_CONV_TRANSPOSE2D = 2,
    EK_OP_FULLY_CONNECTED = 3,
    EK_OP_MAT_MUL = 4,
    EK_OP_ADD = 5,
    EK_OP_MUL = 6,
    EK_OP_MIN_MAX = 7,
    EK_OP_PRELU = 8,
    EK_OP_LUT = 9,
    EK_OP_CHANNEL_LUT = 10,
    EK_OP_BINARY = 11,
    EK_OP_UNARY = 12,
    EK_OP_COMPARE = 13,
    EK_OP_WHERE = 14,
    EK_OP_MAX_POOL2D = 15,
    EK_OP_AVG_POOL2D = 16,
    EK_OP_REDUCE = 17,
    EK_OP_SOFTMAX = 18,
    EK_OP_LAYER_NORM = 19,
    EK_OP_ARG_MAX = 20,
    EK_OP_RESIZE = 21,
    EK_OP_CONCAT = 22,
    EK_OP_COPY = 23,
    EK_OP_PAD = 24,
    EK_OP_GATHER = 25,
    EK_OP_CAST = 26,
    EK_OP_DEQUANTIZE = 27,
    EK_OP_REQUANTIZE = 28,
    EK_OP_TREE_ENSEMBLE = 29,
    EK_OP_RECURRENT = 30,
    EK_OP_CONVERT = 31,
    EK_OP_DISTANCE = 32,
    EK_OP_PAIRWISE_COUPLING = 33,
    EK_OP_MATH = 34,
    EK_OP_SCATTER = 35,
    EK_OP_TOP_K = 36,
    EK_OP_NON_ZERO = 37,
    EK_OP_NON_MAX_SUPPRESSION = 38,
    EK_OP_CUSTOM = 39,
    EK_OP_REGION = 40,
};

#endif

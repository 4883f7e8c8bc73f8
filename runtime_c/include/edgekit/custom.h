/* Operators of your own, in C (docs/custom-operators.md). A file defines one or more:
 *
 *     #include "edgekit/custom.h"
 *
 *     static ek_status check(const ek_custom_call *call) { ... }
 *     static ek_status run(const ek_custom_call *call) { ... }
 *
 *     EK_CUSTOM_OPERATOR(swish) = { .name = "my.domain::Swish", .version = 1, .check = check, .run = run };
 *
 * and `edgekit build --op FILE.c` links them into the firmware of models that use them; where you build the runtime
 * yourself, EDGEKIT_CUSTOM of CMake, or CUSTOM of make, is the list of files. EK_CUSTOM_OPERATOR begins a line.
 *
 * What is here stays as it is: members are added at ends of structs alone.
 */
#ifndef EDGEKIT_CUSTOM_H
#define EDGEKIT_CUSTOM_H

#include "edgekit/edgekit.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Operands that an operator has at most. */
#define EK_CUSTOM_INPUTS  8
#define EK_CUSTOM_OUTPUTS 4

/* [cdef] */
/* An operand. Its shape and element type are those of the ONNX model (int64 and narrow integers are int32, bool is
 * uint8) or, where it is quantized, int8 or int16: real = scale * (q - zero_point). */
typedef struct ek_custom_tensor {
    void *data;            /* aligned to its elements; in check and scratch NULL but for constants; read inputs only */
    const uint32_t *shape; /* `rank` numbers, none of them 0 */
    uint32_t rank;
    uint32_t count;     /* elements, the product of shape */
    float scale;        /* 0: not quantized */
    int32_t zero_point; /* in the range of int16 */
    uint32_t dtype;     /* EK_DTYPE_* */
} ek_custom_tensor;

/* What an operator is asked to work on. */
typedef struct ek_custom_call {
    const ek_custom_tensor *inputs, *outputs;
    uint32_t input_count, output_count; /* an optional input that is absent has the shape NULL and the count 0 */
    const void *attributes;             /* what your Python's `pack` wrote, aligned to 8; NULL if that is nothing */
    uint32_t attribute_bytes;
    uint32_t scratch_bytes; /* what your Python's `scratch` asked for */
    void *scratch;          /* of these, aligned to EK_ALIGN; NULL in check and if there are none */
} ek_custom_call;

/* An operator. Its functions keep nothing from call to call, and do not call the runtime. */
typedef struct ek_custom_operator {
    const char *name; /* domain::operator of ONNX */
    uint32_t version; /* that of your Python: raise both when the attributes change */
    /* Bytes of scratch that run needs, NULL: none. A file that plans fewer does not open. */
    uint32_t (*scratch)(const ek_custom_call *call);
    /* Called once for each use in a file, when that is opened: EK_OK if `run` stays inside its operands, attributes
     * and scratch whatever the inputs hold, else EK_ERR_CORRUPT. The file may be hostile: the pointers are good for
     * count, attribute_bytes and rank, and nothing else has been looked at: neither how many operands there are nor
     * their types, whether shapes fit each other, or any attribute. */
    ek_status (*check)(const ek_custom_call *call);
    /* Writes all outputs, of which none shares memory with another operand. An error ends the run with it. */
    ek_status (*run)(const ek_custom_call *call);
} ek_custom_operator;
/* [/cdef] */

/* Defines the operator that a build knows by `symbol`. */
#define EK_CUSTOM_OPERATOR(symbol)                      \
    extern const ek_custom_operator ek_custom_##symbol; \
    const ek_custom_operator ek_custom_##symbol

#ifdef __cplusplus
}
#endif
#endif

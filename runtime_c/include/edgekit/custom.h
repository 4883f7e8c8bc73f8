/* Custom operators in C (docs/custom-operators.md). A file defines one or more:
 *
 *     #include "edgekit/custom.h"
 *
 *     static ek_status check(const ek_custom_call *call) { ... }
 *     static ek_status run(const ek_custom_call *call) { ... }
 *
 *     EK_CUSTOM_OPERATOR(swish) = { .name = "my.domain::Swish", .version = 1, .check = check, .run = run };
 *
 * `edgekit build --op FILE.c` links them into the firmware of models that use them. If you build the runtime yourself,
 * list the files in EDGEKIT_CUSTOM (CMake) or CUSTOM (make). EK_CUSTOM_OPERATOR must be at the start of a line.
 *
 * This interface is stable: members are only added at the end of structs.
 */
#ifndef EDGEKIT_CUSTOM_H
#define EDGEKIT_CUSTOM_H

#include "edgekit/edgekit.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Maximum number of operands. */
#define EK_CUSTOM_INPUTS  8
#define EK_CUSTOM_OUTPUTS 4

/* [cdef] */
/* An operand. Shape and element type are those of the ONNX model (int64 and narrow integers are int32, bool is uint8)
 * or, if it is quantized, int8 or int16: real = scale * (q - zero_point). */
typedef struct ek_custom_tensor {
    void *data; /* aligned to its elements; do not write inputs. NULL in check and scratch, except constants */
    const uint32_t *shape; /* `rank` numbers, none of them 0 */
    uint32_t rank;
    uint32_t count;     /* elements, the product of shape */
    float scale;        /* 0: not quantized */
    int32_t zero_point; /* in the range of int16 */
    uint32_t dtype;     /* EK_DTYPE_* */
} ek_custom_tensor;

/* The arguments of an operator's functions. */
typedef struct ek_custom_call {
    const ek_custom_tensor *inputs, *outputs;
    uint32_t input_count, output_count; /* an absent optional input has shape NULL and count 0 */
    const void *attributes;             /* written by `pack` in Python, aligned to 8; NULL if there are none */
    uint32_t attribute_bytes;
    uint32_t scratch_bytes; /* as returned by `scratch` in Python */
    void *scratch;          /* scratch_bytes bytes, aligned to EK_ALIGN; NULL in check and if there is no scratch */
} ek_custom_call;

/* An operator. Its functions must not keep state between calls and must not call the runtime. */
typedef struct ek_custom_operator {
    const char *name; /* domain::operator of ONNX */
    uint32_t version; /* as in Python: increment both when the attributes change */
    /* Scratch size of run in bytes; NULL: no scratch. A file with less scratch does not open. */
    uint32_t (*scratch)(const ek_custom_call *call);
    /* Called once for each use in a file, when the file is opened. Returns EK_OK if `run` stays inside its operands,
     * attributes and scratch for all input values, else EK_ERR_CORRUPT. The file may be malicious: the pointers are
     * valid for count, attribute_bytes and rank; nothing else has been verified, neither the number of operands, nor
     * their types, nor that shapes match, nor any attribute. */
    ek_status (*check)(const ek_custom_call *call);
    /* Writes all outputs; they do not overlap other operands. An error ends the run, which returns it. */
    ek_status (*run)(const ek_custom_call *call);
} ek_custom_operator;
/* [/cdef] */

/* Defines an operator, registered in a build by `symbol`. */
#define EK_CUSTOM_OPERATOR(symbol)                      \
    extern const ek_custom_operator ek_custom_##symbol; \
    const ek_custom_operator ek_custom_##symbol

#ifdef __cplusplus
}
#endif
#endif

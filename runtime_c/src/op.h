/* An operator of the runtime: what the core gives it and asks of it.
 *
 * `check` runs once, when a model is opened, on numbers that may be hostile: it proves that every
 * read and write of `run` stays inside the operator's tensors, the blob and the scratch. `run`
 * trusts that. Neither allocates. All four are pure functions of the node.
 */
#ifndef EK_OP_H
#define EK_OP_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "edgekit/format.h"
#include "edgekit/kernels.h"

#define EK_ABSENT 0xffffu
/* Blob offset of what is not there. */
#define EK_NO_BLOB UINT32_MAX
/* The element type of kinds that move bytes of any. */
#define EK_DTYPE_ANY 0xffu

/* Before a loop that may write its input in place, but no element that it reads later: it is vectorized in place too.
 */
#if defined(__GNUC__) && !defined(__clang__)
#define EK_ELEMENTWISE _Pragma("GCC ivdep")
#else
#define EK_ELEMENTWISE
#endif

/* An operator's `pack` and `pack_room`, which firmware that runs files packed beforehand has no use for. */
#ifdef EK_NO_PACKERS
#define EK_OP_PACK(function)          NULL
#define EK_OP_PACK_IN(room, function) .pack = NULL
#define EK_OP_CONSTANTS(params, find) .weights_at = offsetof(params, weights)
#else
#define EK_OP_PACK(function)          function
#define EK_OP_PACK_IN(room, function) .pack = function, .pack_room = room
#define EK_OP_CONSTANTS(params, find) .weights_at = offsetof(params, weights), .table = find
#endif

/* An operator as the program says it, decoded. */
typedef struct ek_op_record {
    const uint16_t *operands; /* tensor indices: inputs, then outputs */
    uint32_t scratch_offset;  /* bytes from the arena's start, valid while this operator runs */
    uint32_t scratch_bytes;
    const struct ek_op *impl;
    uint8_t kind; /* EK_OP_*, of its variant EK_VARIANT more */
    uint8_t inputs, outputs;
    uint8_t dtype; /* that it computes in */
    union {
        uint32_t word; /* for alignment */
        uint8_t bytes[EK_PARAMS_BYTES];
    } params;
} ek_op_record;

typedef struct ek_node {
    const ek_model *model;
    const ek_op_record *op;
    const void *params;          /* the kind's struct of format.h, 4-byte aligned */
    const ek_kernels *kernels;   /* NULL during check */
    uint8_t *arena, *persistent; /* NULL during check */
    void *scratch;               /* aligned to EK_ALIGN; ek_op.scratch() bytes */
    const void *packed;          /* what pack wrote, or NULL */
    const void *unpacked;        /* weights that are not in the file as the kernels want them, or NULL */
#ifndef EK_NO_PACKERS
    const void *widened; /* the table of requantization, where the file has a tight one, or NULL */
#endif
#ifndef EK_NO_REGIONS
    uint32_t *jump; /* operators that a Region's run goes on by, 0 at first, modulo 2^32; NULL during check */
#endif
} ek_node;

typedef struct ek_table ek_table; /* requant_table.h */

enum { EK_INPUT_0 = 1, EK_INPUT_1 = 2, EK_INPUT_2 = 4 };

typedef struct ek_op {
    uint8_t inputs_min, inputs_max, outputs; /* outputs: at most, and at least one */
    uint8_t in_place; /* EK_INPUT_*: with all kernels the output may take over the memory of these inputs */
    ek_status (*check)(const ek_node *node);
    /* Bytes of scratch that run needs with these kernels, by the parameters alone; NULL: none. They may be hostile:
     * compute in 64 bits. */
    uint64_t (*scratch)(const ek_node *node);
    /* Bytes of packed weights for these kernels, 0 for none (NULL: always none), and the packing. */
    uint64_t (*packed_bytes)(const ek_node *node);
    void (*pack)(const ek_node *node, void *packed);
#ifndef EK_NO_PACKERS
    /* Bytes behind the packed ones that the packing may write meanwhile; NULL: none. */
    uint64_t (*pack_room)(const ek_node *node);
    /* The table of requantization, of a checked node; NULL: none. */
    ek_table (*table)(const ek_node *node);
#endif
    /* Where in the parameters the blob offset of the weights is; for operators that pack. */
    uint16_t weights_at;
    ek_status (*run)(const ek_node *node);
} ek_op;

/* A float in a field of 32 bits. */
static inline float ek_f32(int32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* Inputs, then outputs; NULL for an absent input. */
const ek_fmt_tensor *ek_operand(const ek_node *n, uint32_t i);

static inline const ek_fmt_tensor_type *ek_type_of(const ek_model *model, const ek_fmt_tensor *t)
{
    return (const ek_fmt_tensor_type *)model->types + t->type;
}

void *ek_tensor_data(const ek_node *n, const ek_fmt_tensor *t);

/* Input i, output i: its record and its bytes. The core has checked that the record's bytes lie
 * inside its place, that outputs are never in the blob, and that data is aligned to its dtype. */
static inline const ek_fmt_tensor *ek_in_tensor(const ek_node *n, uint32_t i)
{
    return ek_operand(n, i);
}
static inline const ek_fmt_tensor *ek_out_tensor(const ek_node *n, uint32_t i)
{
    return ek_operand(n, n->op->inputs + i);
}
/* Their shape, element type, place and bytes. */
static inline const ek_fmt_tensor_type *ek_in_type(const ek_node *n, uint32_t i)
{
    return ek_type_of(n->model, ek_in_tensor(n, i));
}
static inline const ek_fmt_tensor_type *ek_out_type(const ek_node *n, uint32_t i)
{
    return ek_type_of(n->model, ek_out_tensor(n, i));
}
static inline const void *ek_in(const ek_node *n, uint32_t i)
{
    return ek_tensor_data(n, ek_operand(n, i));
}
static inline void *ek_out(const ek_node *n, uint32_t i)
{
    return ek_tensor_data(n, ek_out_tensor(n, i));
}
static inline const void *ek_blob(const ek_node *n, uint32_t offset)
{
    return n->model->blob + offset;
}

/* Text equality, without the C library. */
static inline bool ek_same(const char *a, const char *b)
{
    while (*a && *a == *b) a++, b++;
    return *a == *b;
}

/* For check: operand i exists, has this dtype and exactly this many elements. */
bool ek_check_in(const ek_node *n, uint32_t i, uint8_t dtype, uint64_t elements);
bool ek_check_out(const ek_node *n, uint32_t i, uint8_t dtype, uint64_t elements);
/* For check: `bytes` at blob offset `offset` exist and are aligned to `align`. */
bool ek_check_blob(const ek_node *n, uint64_t offset, uint64_t bytes, uint32_t align);
/* For check: input i is of the output's element type. */
static inline bool ek_check_same_dtype(const ek_node *n, uint32_t i)
{
    return ek_in_tensor(n, i) && ek_in_type(n, i)->dtype == ek_out_type(n, 0)->dtype;
}
/* Bytes of one element; 0 for a dtype that does not exist. */
uint32_t ek_dtype_bytes(uint8_t dtype);
/* a * b, or UINT64_MAX when that does not fit; without a division, which small cores lack. */
uint64_t ek_mul64(uint64_t a, uint64_t b);

#endif

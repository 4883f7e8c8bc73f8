/* edgekit runtime, public interface.
 *
 * The runtime never allocates, has no globals and never recurses: the caller provides every buffer.
 * Functions that can fail return 0 (EK_OK) or a negative ek_status; on failure nothing is written
 * through output arguments. A model file is untrusted until ek_model_open has returned EK_OK. After
 * that, no content of it can make the runtime read or write outside the caller's memory.
 *
 * A model may be shared by several sessions. A session may be used by one thread at a time.
 */
#ifndef EDGEKIT_EDGEKIT_H
#define EDGEKIT_EDGEKIT_H

#include <stddef.h>
#include <stdint.h>

#include "edgekit/types.h"

#ifdef __cplusplus
extern "C" {
#endif

#define EK_VERSION_MAJOR  0
#define EK_VERSION_MINOR  1
#define EK_VERSION_PATCH  0
#define EK_FORMAT_VERSION 3

/* Required alignment of a model file and of a session's memory, in bytes. */
#define EK_ALIGN 16

/* Bytes of a session in addition to arena and persistent memory, if the kernels pack no weights and
 * need no more scratch than planned in the file, as for a file built for its target. A constant
 * expression: static uint8_t memory[EK_SESSION_OVERHEAD + arena + persistent]. */
#define EK_SESSION_OVERHEAD (12 * sizeof(void *))

/* [cdef] */
typedef enum ek_status {
    EK_OK = 0,
    EK_ERR_ARG = -1,         /* invalid argument: NULL, or out of range */
    EK_ERR_UNSUPPORTED = -2, /* the operator or kernel table is not in this build, or not supported by this CPU */
    EK_ERR_CORRUPT = -3,     /* not an .edge file, or it violates a rule of docs/format.md */
    EK_ERR_VERSION = -4,     /* unsupported format version: newer than the library, or older than 3 */
    EK_ERR_MEMORY = -5,      /* the buffer is too small */
    EK_ERR_ALIGN = -6,       /* the buffer is not aligned to EK_ALIGN */
    EK_ERR_INDEX = -7,       /* an index computed by the model is out of range */
    EK_ERR_CHECKSUM = -8,    /* checksum mismatch: the file was modified after the toolkit wrote it */
    EK_ERR_DEVICE = -9,      /* an accelerator failed or timed out */
} ek_status;

/* Description of a status, for any value; never NULL. All strings returned by this header are constant, in the
 * library or in the file, and must not be freed. */
const char *ek_status_str(ek_status status);

/* EK_VERSION_MAJOR * 10000 + EK_VERSION_MINOR * 100 + EK_VERSION_PATCH of the library. */
uint32_t ek_version(void);

/* A table of kernels. Opaque here; defined in edgekit/kernels.h. Tables are constant, live as long as the program, and
 * can be shared by any number of sessions and threads. */
typedef struct ek_kernels ek_kernels;

/* The reference kernels in portable C, which define the results of all others. NULL in firmware that supports packed
 * files only (EDGEKIT_PACK_AT_LOAD=OFF). */
const ek_kernels *ek_kernels_reference(void);

/* If `name` is NULL, the best table that this CPU supports; otherwise the table called `name`. NULL if the CPU does
 * not support it or it is not in this build. */
const ek_kernels *ek_kernels_select(const char *name);

/* For tools that prepare files on a host: the parameters and packing functions of the table `name` of another CPU,
 * whose kernels cannot run here. NULL if it is not in this build. */
const ek_kernels *ek_kernels_plan(const char *name);

/* Name of the i-th table in this build (the first is "ref"); NULL beyond the last. */
const char *ek_kernels_name(size_t i);

/* An opened model. Fields without a comment are private; the struct is public so that callers can allocate it.
 * It contains pointers into the file and owns no resources, so there is no close function. */
typedef struct ek_model {
    const uint8_t *data;
    size_t bytes;
    const void *tensors, *types, *memory;
    const uint32_t *dims;
    const uint8_t *program, *blob;
    const uint16_t *ops;
    const uint8_t *inputs, *outputs, *names;
    const struct ek_registry *registry;
    const char *target; /* "generic", or the kernel table that the weights are packed for */
    uint32_t tensor_count, type_count, op_count, dim_count, program_bytes, blob_bytes;
    uint32_t input_count, output_count, names_bytes;
    uint32_t failed_op; /* after an error: index of the operator that failed, UINT32_MAX if none */
    const void *starts;
    uint32_t start_count;
    uint32_t reserved[2];
} ek_model;

enum {
    EK_OPEN_DEFAULT = 0,
    EK_OPEN_CHECKSUM = 1 /* also verify the checksums, which reads the whole file */
};

/* Verify and open the file of `bytes` bytes at `data`. The file is used in place: it must be aligned to EK_ALIGN, and
 * must not change or be freed while the model or one of its sessions is in use. *model needs no initialization. `flags`
 * is EK_OPEN_DEFAULT or EK_OPEN_CHECKSUM. After an error *model is invalid, except for failed_op.
 * Errors: EK_ERR_ARG, EK_ERR_ALIGN, EK_ERR_CORRUPT, EK_ERR_VERSION, EK_ERR_CHECKSUM; EK_ERR_UNSUPPORTED if an operator
 * or codec is not in this build. */
ek_status ek_model_open(ek_model *model, const void *data, size_t bytes, uint32_t flags);

/* Description of an input or output. Name and shape point into the file. */
typedef struct ek_io {
    void *data;            /* in the session's memory; NULL in descriptions of a model */
    const char *name;      /* ONNX name, NUL-terminated */
    const uint32_t *shape; /* in the layout of the ONNX model */
    uint32_t rank;
    uint32_t bytes;
    float scale; /* real = scale * (q - zero_point); 0: not quantized */
    int32_t zero_point;
    uint8_t dtype; /* EK_DTYPE_* of the data */
    uint8_t reserved[3];
    uint16_t onnx_dtype; /* TensorProto.DataType of the float model */
    uint16_t tensor;
} ek_io;

/* Number of inputs and outputs; 0 if the model is NULL or did not open. */
uint32_t ek_input_count(const ek_model *model);
uint32_t ek_output_count(const ek_model *model);
/* Describe input or output `index` in *io. EK_ERR_ARG if `index` is out of range. */
ek_status ek_model_input(const ek_model *model, uint32_t index, ek_io *io);
ek_status ek_model_output(const ek_model *model, uint32_t index, ek_io *io);

/* The labels of input or output `index`: *bytes bytes of NUL-terminated strings in the file. For strings (onnx_dtype 8)
 * they are the strings of the numbers 0, 1, ... in the tensor; for floats they name the elements of the last axis. NULL
 * and 0 bytes if there are none. Programs that do not call these functions do not link them. */
const char *ek_input_labels(const ek_model *model, uint32_t index, uint32_t *bytes);
const char *ek_output_labels(const ek_model *model, uint32_t index, uint32_t *bytes);
/* Label `i` of these; NULL beyond the last. */
const char *ek_label(const char *labels, uint32_t bytes, uint32_t i);

/* Name of the kind of operator `op` in the schema ("Conv2d"), e.g. in an ek_profiler or ek_op_callback; NULL beyond
 * the last. Programs that do not call it do not link the names. */
const char *ek_op_name(const ek_model *model, uint32_t op);

/* A model with memory to run in. A session owns no other resources, so there is no close function. */
typedef struct ek_session ek_session;

/* Size in bytes of a session of `model` with these kernels. EK_ERR_UNSUPPORTED if the file is packed for another table,
 * or if the packing of these kernels is not in this build; EK_ERR_MEMORY if the size exceeds size_t. */
ek_status ek_session_size(const ek_model *model, const ek_kernels *kernels, size_t *bytes);

/* Create a session in `memory`, which must be aligned to EK_ALIGN and belongs to the session until it is no longer
 * used. Packs weights if the kernels need it. Persistent memory is set to the file's initial values, by default zeros.
 * The model must outlive the session and must not move. EK_ERR_ALIGN, EK_ERR_MEMORY if `bytes` is less than
 * ek_session_size returns, and the errors of ek_session_size. */
ek_status ek_session_init(ek_session **session, void *memory, size_t bytes, const ek_model *model,
                          const ek_kernels *kernels);

/* The same with a separate `arena`, aligned to EK_ALIGN, for tensors that are used within a run; everything else is in
 * `memory`. Sessions may share an arena of the largest *arena_bytes of their models: write the inputs of a session, run
 * it to its end and read its outputs before using another one. State between runs is not in the arena. For a file built
 * for its target `bytes` is EK_SESSION_OVERHEAD + persistent. Creating a session clears the arena. */
ek_status ek_session_size_shared(const ek_model *model, const ek_kernels *kernels, size_t *bytes, size_t *arena_bytes);
ek_status ek_session_init_shared(ek_session **session, void *memory, size_t bytes, void *arena, size_t arena_bytes,
                                 const ek_model *model, const ek_kernels *kernels);

/* Describe input or output `index`. Write inputs to io->data before ek_run, and read outputs from io->data after it;
 * the addresses do not change. A run may overwrite its inputs: write the whole input before every run. EK_ERR_ARG if
 * `index` is out of range. */
ek_status ek_session_input(const ek_session *session, uint32_t index, ek_io *io);
ek_status ek_session_output(const ek_session *session, uint32_t index, ek_io *io);

/* Run all operators; restarts if a run by ek_step was in progress. EK_ERR_INDEX if the model computes an index that is
 * out of range: the outputs are then undefined, and the next run starts from the beginning. */
ek_status ek_run(ek_session *session);

/* Run at most `ops` operators and store the number of remaining operators in *left. 0 means that the outputs are ready
 * and the next call starts a new run. `ops` may be 0, to query *left only. Errors as for ek_run. */
ek_status ek_step(ek_session *session, uint32_t ops, uint32_t *left);

/* Set persistent memory to its initial values and abandon a run in progress. */
ek_status ek_session_reset(ek_session *session);

/* A variable dimension of the model. Its size may be lowest, lowest + step, ... up to highest. */
typedef struct ek_symbol {
    const char *name; /* NUL-terminated; points into the file */
    uint32_t lowest, highest, step;
} ek_symbol;

/* Number of variable dimensions, 0 for most models; and the description of number `index`, EK_ERR_ARG if out of
 * range. */
uint32_t ek_symbol_count(const ek_model *model);
ek_status ek_model_symbol(const ek_model *model, uint32_t index, ek_symbol *symbol);

/* Bytes of memory for ek_session_bind: a copy of the file without weights. EK_ERR_ARG for a model without symbols. */
ek_status ek_session_bind_size(const ek_model *model, size_t *bytes);

/* Set the sizes of the variable dimensions, one per symbol, from the next run on. Before the first call they have their
 * largest sizes. Inputs and outputs then have the new shapes. `model` is the session's model. `memory`, aligned to
 * EK_ALIGN, belongs to the session until the next call, which may pass the same memory. Everything that ek_model_open
 * verifies is verified again at these sizes. The contents of the inputs become undefined; state is kept.
 * Errors: EK_ERR_ARG for an invalid size, EK_ERR_ALIGN, EK_ERR_MEMORY if `bytes` is less than ek_session_bind_size
 * returns; the sizes are then unchanged. EK_ERR_CORRUPT for a file whose expressions violate a rule, EK_ERR_UNSUPPORTED
 * if the kernels pack weights differently at these sizes; the sizes are then the largest. */
ek_status ek_session_bind(ek_session *session, const ek_model *model, const uint32_t *sizes, void *memory,
                          size_t bytes);

/* Called after each operator. Its outputs are valid; the memory of its inputs may have been reused. */
typedef void (*ek_op_callback)(void *context, const ek_session *session, uint32_t op);
/* Called before (`after` = 0) and after (`after` = 1) each operator, to measure its time. */
typedef void (*ek_profiler)(void *context, uint32_t op, int after);

/* Set the callback or profiler, which is called with `context`; NULL to remove it. */
ek_status ek_session_on_op(ek_session *session, ek_op_callback callback, void *context);
ek_status ek_session_on_profile(ek_session *session, ek_profiler profiler, void *context);

/* The data of output `index` of operator `op`, for use within an ek_op_callback: *data points into the session's
 * memory. EK_ERR_ARG for an operator or output that does not exist. */
ek_status ek_session_op_output(const ek_session *session, uint32_t op, uint32_t index, const void **data,
                               uint32_t *bytes);

/* Scratch size in bytes of an operator with these kernels: its EK_OP_* (plus EK_VARIANT for a variant), the EK_DTYPE_*
 * that it computes in and its struct, as in edgekit/format.h. Returns UINT32_MAX for an operator that is not in this
 * build, or if the size exceeds 32 bits. */
uint32_t ek_scratch_bytes(const ek_kernels *kernels, uint32_t kind, uint32_t dtype, const void *params);

/* q = clamp(round_half_even(x / scale) + zero_point), with NaN as zero_point, and the inverse. `kernels` may be NULL
 * for portable C, which gives the same result. The scale must be positive, the zero point in the range of int8. */
void ek_quantize_f32_s8(const ek_kernels *kernels, int8_t *q, const float *x, size_t count, float scale,
                        int32_t zero_point);
void ek_dequantize_s8_f32(float *x, const int8_t *q, size_t count, float scale, int32_t zero_point);
/* The same for int16, whose zero point is 0; q is in [-32767, 32767]. */
void ek_quantize_f32_s16(const ek_kernels *kernels, int16_t *q, const float *x, size_t count, float scale);
void ek_dequantize_s16_f32(float *x, const int16_t *q, size_t count, float scale);

/* Pack the weights of operator `op` for these kernels into `packed` (aligned to EK_ALIGN); *bytes is set to their size.
 * If `packed` is NULL, *bytes is set to the size of the buffer to pass: the packed weights and temporary memory; 0 if
 * the operator packs nothing. */
ek_status ek_pack_weights(const ek_model *model, uint32_t op, const ek_kernels *kernels, void *packed, size_t *bytes);

/* Update a CRC-32 (IEEE 802.3) with `bytes` bytes at `data`; start with `crc` = 0. `data` may be NULL for 0 bytes. */
uint32_t ek_crc32(uint32_t crc, const void *data, size_t bytes);
/* [/cdef] */

#ifdef __cplusplus
}
#endif
#endif

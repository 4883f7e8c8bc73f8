/* edgekit runtime, public interface.
 *
 * The runtime never allocates, keeps no globals and never recurses: the caller hands over every
 * buffer. Functions that can fail return 0 (EK_OK) or a negative ek_status; nothing is written
 * through an output argument then. A model file is hostile until ek_model_open has returned EK_OK;
 * after that, no content of it can make the runtime read or write outside the caller's memory.
 *
 * One model may serve many sessions, each used by one thread at a time.
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

/* Alignment in bytes that a model file and a session's memory must have. */
#define EK_ALIGN 16

/* Bytes that a session takes besides arena and persistent memory, when the kernels pack nothing and
 * need no more scratch than the file plans: so for a file built for its target. A constant, for
 * static memory: uint8_t memory[EK_SESSION_OVERHEAD + arena + persistent]. */
#define EK_SESSION_OVERHEAD (12 * sizeof(void *))

/* [cdef] */
typedef enum ek_status {
    EK_OK = 0,
    EK_ERR_ARG = -1,         /* a caller's mistake: null, out of range */
    EK_ERR_UNSUPPORTED = -2, /* this build or this CPU has no such operator or kernel table */
    EK_ERR_CORRUPT = -3,     /* not an .edge file, or its structure breaks a rule of docs/format.md */
    EK_ERR_VERSION = -4,     /* a format this library does not read: newer, or from before version 3 */
    EK_ERR_MEMORY = -5,      /* the memory handed over is too small */
    EK_ERR_ALIGN = -6,       /* the memory handed over is not aligned to EK_ALIGN */
    EK_ERR_INDEX = -7,       /* an index computed by the model points outside its tensor */
    EK_ERR_CHECKSUM = -8,    /* the bytes changed after the toolkit wrote them */
    EK_ERR_DEVICE = -9,      /* an accelerator failed, or did not answer in time */
} ek_status;

/* In words, of any number; never NULL. The text is constant, as all that this header returns as const char *
 * lies in the library or in the file: nobody frees it. */
const char *ek_status_str(ek_status status);

/* EK_VERSION_MAJOR * 10000 + EK_VERSION_MINOR * 100 + EK_VERSION_PATCH of the library. */
uint32_t ek_version(void);

/* The micro-kernels in use. Opaque here; edgekit/kernels.h has them. Tables are constant and are there as long as
 * the program: nobody frees them, and any number of sessions and threads share one. */
typedef struct ek_kernels ek_kernels;

/* The portable C kernels, the meaning of all others; NULL in firmware for files packed beforehand
 * (EDGEKIT_PACK_AT_LOAD=OFF). */
const ek_kernels *ek_kernels_reference(void);

/* The best table that this CPU supports where `name` is NULL, or the one called `name`; NULL if it cannot run
 * here or is not in this build. */
const ek_kernels *ek_kernels_select(const char *name);

/* For tools that prepare files on a host: geometry and packing of another CPU's table `name`, whose
 * kernels do not run here; NULL if this build has none of that name. */
const ek_kernels *ek_kernels_plan(const char *name);

/* Name of the i-th table in this build ("ref" is the first), NULL past the last. */
const char *ek_kernels_name(size_t i);

/* An opened model. Its fields are private but for those with a comment; declared so that callers can place it.
 * It holds pointers into the file and owns nothing: nothing closes it. */
typedef struct ek_model {
    const uint8_t *data;
    size_t bytes;
    const void *tensors, *types, *memory;
    const uint32_t *dims;
    const uint8_t *program, *blob;
    const uint16_t *ops;
    const uint8_t *inputs, *outputs, *names;
    const struct ek_registry *registry;
    const char *target; /* "generic", or the kernel table the weights are packed for */
    uint32_t tensor_count, type_count, op_count, dim_count, program_bytes, blob_bytes;
    uint32_t input_count, output_count, names_bytes;
    uint32_t failed_op; /* after an error: the operator it was found in, UINT32_MAX if none */
    const void *starts;
    uint32_t start_count;
    uint32_t reserved[2];
} ek_model;

enum {
    EK_OPEN_DEFAULT = 0,
    EK_OPEN_CHECKSUM = 1 /* also compare the checksums: reads the whole file */
};

/* Check the `bytes` at `data` once and for all. The data is used in place, must be aligned to
 * EK_ALIGN, and must stay unchanged while the model or a session of it is used; it is the caller's, as *model is,
 * which needs no initialization. `flags` is EK_OPEN_DEFAULT or EK_OPEN_CHECKSUM. After an error *model is no model,
 * but its failed_op is set. EK_ERR_ARG, EK_ERR_ALIGN, EK_ERR_CORRUPT, EK_ERR_VERSION, EK_ERR_UNSUPPORTED for an
 * operator or a codec that this build lacks, EK_ERR_CHECKSUM. */
ek_status ek_model_open(ek_model *model, const void *data, size_t bytes, uint32_t flags);

/* What a caller sees of an input or output. Text and shape point into the file. */
typedef struct ek_io {
    void *data;            /* in the session's memory; NULL when asked of a model */
    const char *name;      /* ONNX name, NUL-terminated */
    const uint32_t *shape; /* ONNX layout */
    uint32_t rank;
    uint32_t bytes;
    float scale; /* real = scale * (q - zero_point); 0: not quantized */
    int32_t zero_point;
    uint8_t dtype; /* EK_DTYPE_* of the data */
    uint8_t reserved[3];
    uint16_t onnx_dtype; /* TensorProto.DataType of the float model */
    uint16_t tensor;
} ek_io;

/* 0 of a model that is NULL or did not open. */
uint32_t ek_input_count(const ek_model *model);
uint32_t ek_output_count(const ek_model *model);
/* Describe input or output `index`, below the count, in the caller's *io; EK_ERR_ARG beyond. */
ek_status ek_model_input(const ek_model *model, uint32_t index, ek_io *io);
ek_status ek_model_output(const ek_model *model, uint32_t index, ek_io *io);

/* The labels of input or output `index`: *bytes of texts, each with its NUL, which point into the file. Of strings
 * (onnx_dtype 8) they say what the numbers 0, 1, ... in the tensor stand for; of floats they name the last axis. NULL
 * and 0 bytes without any. Programs that do not call these do not link them. */
const char *ek_input_labels(const ek_model *model, uint32_t index, uint32_t *bytes);
const char *ek_output_labels(const ek_model *model, uint32_t index, uint32_t *bytes);
/* Label `i` of those; NULL beyond the last. */
const char *ek_label(const char *labels, uint32_t bytes, uint32_t i);

/* Name of the kind of operator `op`, as the schema has it ("Conv2d"), for an ek_profiler or ek_op_callback; NULL
 * beyond the last. Programs that do not call it do not link the names. */
const char *ek_op_name(const ek_model *model, uint32_t op);

/* A model with memory to run in. It is nothing but the memory that it was made in: nothing closes it. */
typedef struct ek_session ek_session;

/* Bytes of memory a session of `model` needs with these kernels. EK_ERR_UNSUPPORTED for a file packed for another
 * table, or kernels whose packing is not in this build; EK_ERR_MEMORY for more than a size_t holds. */
ek_status ek_session_size(const ek_model *model, const ek_kernels *kernels, size_t *bytes);

/* Make a session in `memory`, aligned to EK_ALIGN, which is then the session's until the caller
 * takes it back. Packs weights if the kernels want that. Persistent memory starts with the file's initial values, else
 * as zeros. The model must outlive the session, at its address. EK_ERR_ALIGN, EK_ERR_MEMORY for less than
 * ek_session_size says, and its errors. */
ek_status ek_session_init(ek_session **session, void *memory, size_t bytes, const ek_model *model,
                          const ek_kernels *kernels);

/* As these two, with the tensors that live for one run only in `arena`, aligned to EK_ALIGN, and all else in `memory`.
 * Sessions may share an arena of the largest *arena_bytes of their models: write the inputs of one, run it to its end
 * and read its outputs before any other of them is touched. State between runs is not in the arena. For a file built
 * for its target `bytes` is EK_SESSION_OVERHEAD + persistent. Each session that is made sets the arena to zeros. */
ek_status ek_session_size_shared(const ek_model *model, const ek_kernels *kernels, size_t *bytes, size_t *arena_bytes);
ek_status ek_session_init_shared(ek_session **session, void *memory, size_t bytes, void *arena, size_t arena_bytes,
                                 const ek_model *model, const ek_kernels *kernels);

/* Inputs are written in place before ek_run, outputs read in place after it, at io->data in the session's memory,
 * which stays where it is. An input's bytes may be reused by the run: write all of them before every run. `index` is
 * below ek_input_count or ek_output_count; EK_ERR_ARG beyond. */
ek_status ek_session_input(const ek_session *session, uint32_t index, ek_io *io);
ek_status ek_session_output(const ek_session *session, uint32_t index, ek_io *io);

/* Run all operators; start over if a stepped run was under way. EK_ERR_INDEX when the model computes an index that
 * points outside its tensor: the outputs are undefined then, the next run starts anew. */
ek_status ek_run(ek_session *session);

/* Run at most `ops` operators and return how many are left in *left; 0 means the outputs are
 * ready and the next call starts a new run. 0 operators: only how many are left. Errors as of ek_run. */
ek_status ek_step(ek_session *session, uint32_t ops, uint32_t *left);

/* Set persistent memory back to what it started with and forget a run under way. */
ek_status ek_session_reset(ek_session *session);

/* A dimension of the model whose size the caller chooses: lowest, lowest + step, ... up to highest. */
typedef struct ek_symbol {
    const char *name; /* NUL-terminated; points into the file */
    uint32_t lowest, highest, step;
} ek_symbol;

/* How many the model has, 0 of most; and number `index` of them: EK_ERR_ARG beyond the last. */
uint32_t ek_symbol_count(const ek_model *model);
ek_status ek_model_symbol(const ek_model *model, uint32_t index, ek_symbol *symbol);

/* Bytes that ek_session_bind needs: a copy of the file without weights. EK_ERR_ARG of a model without symbols. */
ek_status ek_session_bind_size(const ek_model *model, size_t *bytes);

/* Give the dimensions their sizes, one for each symbol, from the next run on; before the first call they are the
 * largest. Inputs and outputs are then of these sizes, and a run costs what they cost. `model` is what the session was
 * made of, `memory`, aligned to EK_ALIGN, is the session's until the next call, which may have the same. All that
 * ek_model_open proves is proved again at these sizes. The contents of the inputs are undefined then; state is kept.
 * EK_ERR_ARG for a size that the model does not have, EK_ERR_ALIGN, EK_ERR_MEMORY for less than ek_session_bind_size
 * says, EK_ERR_CORRUPT for a file whose expressions break a rule, EK_ERR_UNSUPPORTED for kernels that pack weights
 * otherwise at these sizes: after these two the sizes are the largest ones, else what they were. */
ek_status ek_session_bind(ek_session *session, const ek_model *model, const uint32_t *sizes, void *memory,
                          size_t bytes);

/* Called after each operator, while its inputs' memory may be gone but its outputs are there. */
typedef void (*ek_op_callback)(void *context, const ek_session *session, uint32_t op);
/* Called before (`after` = 0) and after each operator, to time it. */
typedef void (*ek_profiler)(void *context, uint32_t op, int after);

/* Have `callback` or `profiler` called with `context`, which is the caller's; NULL for no more calls. */
ek_status ek_session_on_op(ek_session *session, ek_op_callback callback, void *context);
ek_status ek_session_on_profile(ek_session *session, ek_profiler profiler, void *context);

/* The bytes of output `index` of operator `op`, to be read from within an ek_op_callback: *data points into the
 * session's memory. EK_ERR_ARG for an operator or output that does not exist. */
ek_status ek_session_op_output(const ek_session *session, uint32_t op, uint32_t index, const void **data,
                               uint32_t *bytes);

/* Scratch bytes that one operator needs with these kernels: EK_OP_* (EK_VARIANT more of its variant), the EK_DTYPE_*
 * that it computes in and its struct, of edgekit/format.h. Returns UINT32_MAX for an operator that is not in this build
 * or a size beyond 32 bits. */
uint32_t ek_scratch_bytes(const ek_kernels *kernels, uint32_t kind, uint32_t dtype, const void *params);

/* q = clamp(round_half_even(x / scale) + zero_point), NaN as zero_point, with these kernels (NULL: the
 * portable ones, which give the same bytes); and back. The scale is positive, the zero point an int8. */
void ek_quantize_f32_s8(const ek_kernels *kernels, int8_t *q, const float *x, size_t count, float scale,
                        int32_t zero_point);
void ek_dequantize_s8_f32(float *x, const int8_t *q, size_t count, float scale, int32_t zero_point);
/* The same for int16, whose zero point is 0; q is in [-32767, 32767]. */
void ek_quantize_f32_s16(const ek_kernels *kernels, int16_t *q, const float *x, size_t count, float scale);
void ek_dequantize_s16_f32(float *x, const int16_t *q, size_t count, float scale);

/* Weights of operator `op` as these kernels want them, into `packed` (aligned to EK_ALIGN); *bytes becomes their size.
 * When `packed` is NULL, it becomes the room that packing takes, the weights and behind them what it works with; 0 for
 * an operator that packs nothing. */
ek_status ek_pack_weights(const ek_model *model, uint32_t op, const ek_kernels *kernels, void *packed, size_t *bytes);

/* CRC-32 (IEEE 802.3) of `bytes` at `data`, going on from `crc` (0 to start). `data` may be NULL for 0 bytes. */
uint32_t ek_crc32(uint32_t crc, const void *data, size_t bytes);
/* [/cdef] */

#ifdef __cplusplus
}
#endif
#endif

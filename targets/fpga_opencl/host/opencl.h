/* The accelerator of targets/fpga_opencl/kernels, driven through OpenCL 1.2.
 *
 * For hosts with an operating system: it allocates, and loads the OpenCL loader (libOpenCL.so.1)
 * when a device is asked for. Nothing of OpenCL is needed to build it or to run without it.
 *
 * A session runs as ever, but operators that the file places on the accelerator (Model.placement)
 * run there. Tensors cross only where the file's placement changes sides. Results are the host's to
 * the bit.
 *
 * No call waits longer for the device than `seconds` of its settings. After EK_ERR_DEVICE the
 * device may still be at work: what belongs to it is leaked, not waited for.
 */
#ifndef EDGEKIT_OPENCL_H
#define EDGEKIT_OPENCL_H

#include "edgekit/edgekit.h"

#ifdef __cplusplus
extern "C" {
#endif

/* [cdef] */
typedef struct ek_opencl ek_opencl;
typedef struct ek_accelerated ek_accelerated;

/* What went wrong, in words; empty after EK_OK. */
typedef struct ek_opencl_error {
    char text[4096];
} ek_opencl_error;

typedef struct ek_opencl_settings {
    uint32_t device;     /* index of ek_opencl_device_info */
    const void *program; /* OpenCL C, or a binary for this device (.aocx, .xclbin, ek_opencl_binary) */
    size_t program_bytes;
    const char *options;   /* of the compiler, for source; may be NULL */
    double seconds;        /* that one step of the device may take */
    uint64_t memory_bytes; /* most to allocate on the device; 0: what it has */
} ek_opencl_settings;

typedef struct ek_opencl_info {
    char platform[128], name[128], version[128];
    uint64_t memory_bytes, largest_bytes;
    uint32_t channels;    /* 1: has cl_intel_channels */
    uint32_t accelerator; /* 1: says that it is one */
    uint32_t alignment;   /* bytes */
} ek_opencl_info;

/* What a program was built with; the macros of edgekit.cl. */
typedef struct ek_opencl_config {
    uint32_t vec, lanes, line_words, weight_words, pool_words, taps, channels, version;
} ek_opencl_config;

/* Device `index` of all platforms in turn; EK_ERR_ARG past the last, EK_ERR_UNSUPPORTED without a loader. */
ek_status ek_opencl_device_info(uint32_t index, ek_opencl_info *info, ek_opencl_error *error);

ek_status ek_opencl_open(ek_opencl **opencl, const ek_opencl_settings *settings, ek_opencl_error *error);
void ek_opencl_close(ek_opencl *opencl);
void ek_opencl_get_config(const ek_opencl *opencl, ek_opencl_config *config);
/* The built program, for a later open; only its size when `binary` is NULL. */
ek_status ek_opencl_binary(const ek_opencl *opencl, void *binary, size_t *bytes, ek_opencl_error *error);

/* How often the innermost loop of each stage turns for one operator, all tiles together. */
typedef struct ek_opencl_loops {
    uint64_t read, window, weights, mac, requant, pool, write;
} ek_opencl_loops;

/* Needs no device. EK_ERR_UNSUPPORTED, and why in `error`, for an operator that the accelerator with these sizes
 * cannot run; EK_ERR_ARG for an operator that the model does not have, and sizes of 0. */
ek_status ek_opencl_loops_of(ek_opencl_loops *loops, const ek_model *model, uint32_t op, const ek_opencl_config *config,
                             ek_opencl_error *error);

/* Both the device and the session must outlive it; the session is not to be run otherwise. */
ek_status ek_accelerated_open(ek_accelerated **accelerated, ek_opencl *opencl, ek_session *session,
                              const ek_model *model, ek_opencl_error *error);
void ek_accelerated_close(ek_accelerated *accelerated);
ek_status ek_accelerated_run(ek_accelerated *accelerated, ek_opencl_error *error);

/* What operator `op` did in the last run. */
typedef struct ek_accelerated_op {
    uint32_t on_device;
    uint32_t to_device_bytes, to_host_bytes; /* that crossed because of it */
    double seconds;                          /* on this machine's clock, with crossings */
} ek_accelerated_op;
ek_status ek_accelerated_get_op(const ek_accelerated *accelerated, uint32_t op, ek_accelerated_op *stats);
/* [/cdef] */

#ifdef __cplusplus
}
#endif
#endif

/* What the host's own files share: an opened device with the accelerator's program on it. */
#ifndef EK_OPENCL_DEVICE_H
#define EK_OPENCL_DEVICE_H

#include "cl.h"
#include "opencl.h"

/* The stages in the order of the chain. READ to WRITE, but WEIGHTS, are linked in this order. */
enum { EK_READ, EK_WINDOW, EK_WEIGHTS, EK_MAC, EK_REQUANT, EK_POOL, EK_WRITE, EK_STAGES };

struct ek_opencl {
    const ek_cl *cl;
    cl_object platform, device, context, program;
    cl_object kernel[EK_STAGES]; /* WEIGHTS is NULL without channels */
    cl_object queue[EK_STAGES];
    ek_opencl_config config;
    double seconds;
    uint64_t memory_bytes, largest_bytes, allocated_bytes;
    int lost; /* it missed its time limit: never wait for it again */
};

/* Fill `error` as printf does, and return `status`. */
ek_status ek_opencl_fail(ek_opencl_error *error, ek_status status, const char *format, ...);
/* The same for a call of OpenCL that returned `code`. */
ek_status ek_opencl_fail_call(ek_opencl_error *error, const char *call, int32_t code);

/* Memory of the device, never more than it may take. `what` names it in the error. */
ek_status ek_opencl_allocate(ek_opencl *o, cl_object *memory, uint64_t bytes, const char *what, ek_opencl_error *error);
void ek_opencl_free(ek_opencl *o, cl_object memory, uint64_t bytes);

/* Wait for `count` events, and release them; EK_ERR_DEVICE after the time limit. `what` is waited for. */
ek_status ek_opencl_wait(ek_opencl *o, cl_object *events, uint32_t count, const char *what, ek_opencl_error *error);
/* Copy; returns when it is done. */
ek_status ek_opencl_upload(ek_opencl *o, cl_object memory, uint64_t offset, const void *from, size_t bytes,
                           ek_opencl_error *error);
ek_status ek_opencl_download(ek_opencl *o, void *to, cl_object memory, uint64_t offset, size_t bytes,
                             ek_opencl_error *error);
double ek_opencl_now(void);

#endif

/* The part of OpenCL 1.2 that the host uses, declared here so that no header is needed to build.
 * Numbers and signatures are those of the Khronos headers (CL/cl.h). */
#ifndef EK_CL_H
#define EK_CL_H

#include <stddef.h>
#include <stdint.h>

typedef struct cl_object *cl_object; /* platform, device, context, queue, memory, program, kernel, event */

enum {
    CL_SUCCESS = 0,
    CL_DEVICE_NOT_FOUND = -1,
    CL_MEM_OBJECT_ALLOCATION_FAILURE = -4,
    CL_OUT_OF_RESOURCES = -5,
    CL_OUT_OF_HOST_MEMORY = -6,
    CL_BUILD_PROGRAM_FAILURE = -11,
    CL_INVALID_BUFFER_SIZE = -61,
    CL_PLATFORM_NOT_FOUND_KHR = -1001,

    CL_PLATFORM_NAME = 0x0902,
    CL_DEVICE_TYPE_ACCELERATOR = 1 << 3,
    CL_DEVICE_TYPE = 0x1000,
    CL_DEVICE_MAX_MEM_ALLOC_SIZE = 0x1010,
    CL_DEVICE_MEM_BASE_ADDR_ALIGN = 0x1019,
    CL_DEVICE_GLOBAL_MEM_SIZE = 0x101F,
    CL_DEVICE_NAME = 0x102B,
    CL_DEVICE_VERSION = 0x102F,
    CL_DEVICE_EXTENSIONS = 0x1030,
    CL_CONTEXT_PLATFORM = 0x1084,
    CL_PROGRAM_BINARY_SIZES = 0x1165,
    CL_PROGRAM_BINARIES = 0x1166,
    CL_PROGRAM_BUILD_LOG = 0x1183,
    CL_EVENT_COMMAND_EXECUTION_STATUS = 0x11D3,
    CL_COMPLETE = 0,
    CL_MEM_READ_WRITE = 1 << 0,
    CL_MEM_READ_ONLY = 1 << 2,
};
#define CL_DEVICE_TYPE_ALL UINT64_C(0xFFFFFFFF)

/* EK_CL_CALLS(X): X(result, name, arguments) for every function used. */
#define EK_CL_CALLS(X)                                                                                          \
    X(int32_t, clGetPlatformIDs, (uint32_t, cl_object *, uint32_t *))                                           \
    X(int32_t, clGetPlatformInfo, (cl_object, uint32_t, size_t, void *, size_t *))                              \
    X(int32_t, clGetDeviceIDs, (cl_object, uint64_t, uint32_t, cl_object *, uint32_t *))                        \
    X(int32_t, clGetDeviceInfo, (cl_object, uint32_t, size_t, void *, size_t *))                                \
    X(cl_object, clCreateContext, (const intptr_t *, uint32_t, const cl_object *, void *, void *, int32_t *))   \
    X(cl_object, clCreateCommandQueue, (cl_object, cl_object, uint64_t, int32_t *))                             \
    X(cl_object, clCreateBuffer, (cl_object, uint64_t, size_t, void *, int32_t *))                              \
    X(cl_object, clCreateProgramWithSource, (cl_object, uint32_t, const char **, const size_t *, int32_t *))    \
    X(cl_object, clCreateProgramWithBinary,                                                                     \
      (cl_object, uint32_t, const cl_object *, const size_t *, const uint8_t **, int32_t *, int32_t *))         \
    X(int32_t, clBuildProgram, (cl_object, uint32_t, const cl_object *, const char *, void *, void *))          \
    X(int32_t, clGetProgramBuildInfo, (cl_object, cl_object, uint32_t, size_t, void *, size_t *))               \
    X(int32_t, clGetProgramInfo, (cl_object, uint32_t, size_t, void *, size_t *))                               \
    X(cl_object, clCreateKernel, (cl_object, const char *, int32_t *))                                          \
    X(int32_t, clSetKernelArg, (cl_object, uint32_t, size_t, const void *))                                     \
    X(int32_t, clEnqueueTask, (cl_object, cl_object, uint32_t, const cl_object *, cl_object *))                 \
    X(int32_t, clEnqueueWriteBuffer,                                                                            \
      (cl_object, cl_object, uint32_t, size_t, size_t, const void *, uint32_t, const cl_object *, cl_object *)) \
    X(int32_t, clEnqueueReadBuffer,                                                                             \
      (cl_object, cl_object, uint32_t, size_t, size_t, void *, uint32_t, const cl_object *, cl_object *))       \
    X(int32_t, clFlush, (cl_object))                                                                            \
    X(int32_t, clGetEventInfo, (cl_object, uint32_t, size_t, void *, size_t *))                                 \
    X(int32_t, clReleaseEvent, (cl_object))                                                                     \
    X(int32_t, clReleaseKernel, (cl_object))                                                                    \
    X(int32_t, clReleaseProgram, (cl_object))                                                                   \
    X(int32_t, clReleaseMemObject, (cl_object))                                                                 \
    X(int32_t, clReleaseCommandQueue, (cl_object))                                                              \
    X(int32_t, clReleaseContext, (cl_object))

typedef struct ek_cl {
#define EK_CL_CALL(result, name, arguments) result(*name) arguments;
    EK_CL_CALLS(EK_CL_CALL)
#undef EK_CL_CALL
} ek_cl;

/* The loader's functions; NULL, and `why` said, when there is no loader or it lacks one. */
const ek_cl *ek_cl_load(char *why, size_t size);

#endif

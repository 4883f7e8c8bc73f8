#define _POSIX_C_SOURCE 200809L
#include "device.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MAX_PLATFORMS = 16, MAX_DEVICES = 64, PAGE = 4096, ARGUMENTS_VERSION = 1 };

ek_status ek_opencl_fail(ek_opencl_error *error, ek_status status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(error->text, sizeof error->text, format, arguments);
    va_end(arguments);
    return status;
}

ek_status ek_opencl_fail_call(ek_opencl_error *error, const char *call, int32_t code)
{
    const int memory = code == CL_MEM_OBJECT_ALLOCATION_FAILURE || code == CL_OUT_OF_RESOURCES ||
                       code == CL_OUT_OF_HOST_MEMORY || code == CL_INVALID_BUFFER_SIZE;
    return ek_opencl_fail(error, memory ? EK_ERR_MEMORY : EK_ERR_DEVICE, "%s failed with OpenCL error %d%s", call, code,
                          memory ? ": the device is out of memory" : "");
}

double ek_opencl_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

typedef struct found_device {
    cl_object platform, device;
} found_device;

/* Device `index` over all platforms. */
static ek_status find(const ek_cl *cl, uint32_t index, found_device *found, ek_opencl_error *error)
{
    cl_object platforms[MAX_PLATFORMS], devices[MAX_DEVICES];
    uint32_t platform_count = 0, seen = 0;
    const int32_t code = cl->clGetPlatformIDs(MAX_PLATFORMS, platforms, &platform_count);
    if (code == CL_PLATFORM_NOT_FOUND_KHR || (!code && !platform_count))
        return ek_opencl_fail(error, EK_ERR_UNSUPPORTED,
                              "the OpenCL loader found no driver: no .icd file in /etc/OpenCL/vendors, or in what "
                              "OCL_ICD_VENDORS names; install a device's driver, for instance: apt-get install "
                              "pocl-opencl-icd");
    if (code) return ek_opencl_fail_call(error, "clGetPlatformIDs", code);
    if (platform_count > MAX_PLATFORMS) platform_count = MAX_PLATFORMS;
    for (uint32_t p = 0; p < platform_count; p++) {
        uint32_t count = 0;
        if (cl->clGetDeviceIDs(platforms[p], CL_DEVICE_TYPE_ALL, MAX_DEVICES, devices, &count)) continue;
        if (count > MAX_DEVICES) count = MAX_DEVICES;
        if (index < seen + count) {
            *found = (found_device){ platforms[p], devices[index - seen] };
            return EK_OK;
        }
        seen += count;
    }
    if (!seen)
        return ek_opencl_fail(error, EK_ERR_UNSUPPORTED, "%u OpenCL driver(s), but none has a device here",
                              (unsigned)platform_count);
    return ek_opencl_fail(error, EK_ERR_ARG, "no OpenCL device %u; there are %u", (unsigned)index, (unsigned)seen);
}

static void describe(const ek_cl *cl, const found_device *f, ek_opencl_info *info)
{
    static char extensions[16384];
    uint64_t type = 0;
    uint32_t bits = 0;
    memset(info, 0, sizeof *info);
    cl->clGetPlatformInfo(f->platform, CL_PLATFORM_NAME, sizeof info->platform - 1, info->platform, NULL);
    cl->clGetDeviceInfo(f->device, CL_DEVICE_NAME, sizeof info->name - 1, info->name, NULL);
    cl->clGetDeviceInfo(f->device, CL_DEVICE_VERSION, sizeof info->version - 1, info->version, NULL);
    cl->clGetDeviceInfo(f->device, CL_DEVICE_GLOBAL_MEM_SIZE, 8, &info->memory_bytes, NULL);
    cl->clGetDeviceInfo(f->device, CL_DEVICE_MAX_MEM_ALLOC_SIZE, 8, &info->largest_bytes, NULL);
    cl->clGetDeviceInfo(f->device, CL_DEVICE_MEM_BASE_ADDR_ALIGN, 4, &bits, NULL);
    cl->clGetDeviceInfo(f->device, CL_DEVICE_TYPE, 8, &type, NULL);
    memset(extensions, 0, sizeof extensions);
    cl->clGetDeviceInfo(f->device, CL_DEVICE_EXTENSIONS, sizeof extensions - 1, extensions, NULL);
    info->channels = strstr(extensions, "cl_intel_channels") != NULL;
    info->accelerator = (type & CL_DEVICE_TYPE_ACCELERATOR) != 0;
    info->alignment = bits / 8;
}

ek_status ek_opencl_device_info(uint32_t index, ek_opencl_info *info, ek_opencl_error *error)
{
    found_device f;
    error->text[0] = 0;
    const ek_cl *cl = ek_cl_load(error->text, sizeof error->text);
    if (!cl) return EK_ERR_UNSUPPORTED;
    const ek_status status = find(cl, index, &f, error);
    if (!status) describe(cl, &f, info);
    return status;
}

ek_status ek_opencl_allocate(ek_opencl *o, cl_object *memory, uint64_t bytes, const char *what, ek_opencl_error *error)
{
    int32_t code = 0;
    if (bytes > o->largest_bytes || bytes > o->memory_bytes - o->allocated_bytes)
        return ek_opencl_fail(error, EK_ERR_MEMORY,
                              "the device is out of memory: %llu bytes for %s, %llu of %llu are in use, and one buffer "
                              "holds at most %llu",
                              (unsigned long long)bytes, what, (unsigned long long)o->allocated_bytes,
                              (unsigned long long)o->memory_bytes, (unsigned long long)o->largest_bytes);
    *memory = o->cl->clCreateBuffer(o->context, CL_MEM_READ_WRITE, (size_t)bytes, NULL, &code);
    if (code) {
        *memory = NULL;
        return ek_opencl_fail(error, EK_ERR_MEMORY,
                              "the device is out of memory: OpenCL error %d for %llu bytes of %s, with %llu in use",
                              code, (unsigned long long)bytes, what, (unsigned long long)o->allocated_bytes);
    }
    o->allocated_bytes += bytes;
    return EK_OK;
}

void ek_opencl_free(ek_opencl *o, cl_object memory, uint64_t bytes)
{
    if (!memory || o->lost) return;
    o->cl->clReleaseMemObject(memory);
    o->allocated_bytes -= bytes;
}

ek_status ek_opencl_wait(ek_opencl *o, cl_object *events, uint32_t count, const char *what, ek_opencl_error *error)
{
    const double limit = ek_opencl_now() + o->seconds;
    const struct timespec nap = { 0, 50000 };
    for (uint32_t i = 0, polls = 0; i < count; polls++) {
        int32_t state = 0;
        const int32_t code = o->cl->clGetEventInfo(events[i], CL_EVENT_COMMAND_EXECUTION_STATUS, 4, &state, NULL);
        if (code || state < 0) {
            o->lost = 1;
            return ek_opencl_fail(error, EK_ERR_DEVICE, "%s failed on the device with OpenCL error %d", what,
                                  code ? code : state);
        }
        if (state == CL_COMPLETE) {
            o->cl->clReleaseEvent(events[i++]);
            continue;
        }
        if (ek_opencl_now() > limit) {
            o->lost = 1;
            return ek_opencl_fail(error, EK_ERR_DEVICE, "%s: no answer from the device within %g s", what, o->seconds);
        }
        if (polls > 20) nanosleep(&nap, NULL);
    }
    return EK_OK;
}

ek_status ek_opencl_upload(ek_opencl *o, cl_object memory, uint64_t offset, const void *from, size_t bytes,
                           ek_opencl_error *error)
{
    cl_object event = NULL;
    const int32_t code =
        o->cl->clEnqueueWriteBuffer(o->queue[EK_READ], memory, 0, (size_t)offset, bytes, from, 0, NULL, &event);
    if (code) return ek_opencl_fail_call(error, "clEnqueueWriteBuffer", code);
    o->cl->clFlush(o->queue[EK_READ]);
    return ek_opencl_wait(o, &event, 1, "a transfer to the device", error);
}

ek_status ek_opencl_download(ek_opencl *o, void *to, cl_object memory, uint64_t offset, size_t bytes,
                             ek_opencl_error *error)
{
    cl_object event = NULL;
    const int32_t code =
        o->cl->clEnqueueReadBuffer(o->queue[EK_READ], memory, 0, (size_t)offset, bytes, to, 0, NULL, &event);
    if (code) return ek_opencl_fail_call(error, "clEnqueueReadBuffer", code);
    o->cl->clFlush(o->queue[EK_READ]);
    return ek_opencl_wait(o, &event, 1, "a transfer from the device", error);
}

/* OpenCL C is text; every binary format known has a byte below 9 in its first 256. */
static int is_source(const uint8_t *program, size_t bytes)
{
    for (size_t i = 0; i < bytes && i < 256; i++)
        if (program[i] < 9) return 0;
    return 1;
}

static ek_status build(ek_opencl *o, const ek_opencl_settings *s, ek_opencl_error *error)
{
    const ek_cl *cl = o->cl;
    const int source = is_source(s->program, s->program_bytes);
    int32_t code = 0, state = 0;
    if (source) {
        const char *text = s->program;
        o->program = cl->clCreateProgramWithSource(o->context, 1, &text, &s->program_bytes, &code);
    } else {
        const uint8_t *binary = s->program;
        o->program =
            cl->clCreateProgramWithBinary(o->context, 1, &o->device, &s->program_bytes, &binary, &state, &code);
    }
    if (code || state)
        return ek_opencl_fail(error, EK_ERR_UNSUPPORTED, "the device refuses the program (OpenCL error %d)%s",
                              code ? code : state, source ? "" : ": it is not a binary for this device");
    code = cl->clBuildProgram(o->program, 1, &o->device, source && s->options ? s->options : "", NULL, NULL);
    if (!code) return EK_OK;
    static char log[3500];
    memset(log, 0, sizeof log);
    size_t bytes = 0;
    cl->clGetProgramBuildInfo(o->program, o->device, CL_PROGRAM_BUILD_LOG, 0, NULL, &bytes);
    char *whole = calloc(1, bytes + 1);
    if (whole) {
        cl->clGetProgramBuildInfo(o->program, o->device, CL_PROGRAM_BUILD_LOG, bytes, whole, NULL);
        strncpy(log, whole, sizeof log - 1);
        free(whole);
    }
    return ek_opencl_fail(error, EK_ERR_UNSUPPORTED, "the kernels do not build on this device (OpenCL error %d):\n%s",
                          code, log);
}

static ek_status read_config(ek_opencl *o, ek_opencl_error *error)
{
    int32_t code = 0;
    cl_object memory = NULL, event = NULL;
    cl_object kernel = o->cl->clCreateKernel(o->program, "ek_info", &code);
    if (code) return ek_opencl_fail(error, EK_ERR_UNSUPPORTED, "the program is not edgekit's: it has no ek_info");
    ek_status status = ek_opencl_allocate(o, &memory, PAGE, "the configuration", error);
    if (!status) {
        o->cl->clSetKernelArg(kernel, 0, sizeof memory, &memory);
        code = o->cl->clEnqueueTask(o->queue[EK_READ], kernel, 0, NULL, &event);
        status = code ? ek_opencl_fail_call(error, "clEnqueueTask(ek_info)", code) : EK_OK;
        o->cl->clFlush(o->queue[EK_READ]);
    }
    if (!status) status = ek_opencl_wait(o, &event, 1, "reading the program's configuration", error);
    if (!status) status = ek_opencl_download(o, &o->config, memory, 0, sizeof o->config, error);
    ek_opencl_free(o, memory, PAGE);
    if (!o->lost) o->cl->clReleaseKernel(kernel);
    if (!status && o->config.version != ARGUMENTS_VERSION)
        status = ek_opencl_fail(error, EK_ERR_UNSUPPORTED,
                                "the program was built from kernels of version %u, this edgekit drives version %d: "
                                "build it again",
                                (unsigned)o->config.version, ARGUMENTS_VERSION);
    return status;
}

static ek_status make_kernels(ek_opencl *o, ek_opencl_error *error)
{
    static const char *const names[EK_STAGES] = { "ek_read",    "ek_window", "ek_weights", "ek_mac",
                                                  "ek_requant", "ek_pool",   "ek_write" };
    int32_t code = 0;
    for (int i = 0; i < EK_STAGES; i++) {
        if (i == EK_WEIGHTS && !o->config.channels) continue;
        o->kernel[i] = o->cl->clCreateKernel(o->program, names[i], &code);
        if (code) return ek_opencl_fail(error, EK_ERR_UNSUPPORTED, "the program has no kernel %s", names[i]);
    }
    return EK_OK;
}

static ek_status open_device(ek_opencl *o, const ek_opencl_settings *s, ek_opencl_error *error)
{
    found_device f;
    ek_opencl_info info;
    int32_t code = 0;
    const ek_status status = find(o->cl, s->device, &f, error);
    if (status) return status;
    describe(o->cl, &f, &info);
    o->platform = f.platform;
    o->device = f.device;
    o->largest_bytes = info.largest_bytes;
    o->memory_bytes = s->memory_bytes && s->memory_bytes < info.memory_bytes ? s->memory_bytes : info.memory_bytes;
    o->seconds = s->seconds;
    const intptr_t properties[] = { CL_CONTEXT_PLATFORM, (intptr_t)f.platform, 0 };
    o->context = o->cl->clCreateContext(properties, 1, &o->device, NULL, NULL, &code);
    if (code) return ek_opencl_fail_call(error, "clCreateContext", code);
    for (int i = 0; i < EK_STAGES; i++) {
        o->queue[i] = o->cl->clCreateCommandQueue(o->context, o->device, 0, &code);
        if (code) return ek_opencl_fail_call(error, "clCreateCommandQueue", code);
    }
    return EK_OK;
}

ek_status ek_opencl_open(ek_opencl **opencl, const ek_opencl_settings *settings, ek_opencl_error *error)
{
    if (!opencl || !settings || !error || !settings->program || !settings->program_bytes || !(settings->seconds > 0))
        return EK_ERR_ARG;
    error->text[0] = 0;
    const ek_cl *cl = ek_cl_load(error->text, sizeof error->text);
    if (!cl) return EK_ERR_UNSUPPORTED;
    ek_opencl *o = calloc(1, sizeof *o);
    if (!o) return ek_opencl_fail(error, EK_ERR_MEMORY, "this machine is out of memory");
    o->cl = cl;
    ek_status status = open_device(o, settings, error);
    if (!status) status = build(o, settings, error);
    if (!status) status = read_config(o, error);
    if (!status) status = make_kernels(o, error);
    if (status)
        ek_opencl_close(o);
    else
        *opencl = o;
    return status;
}

void ek_opencl_close(ek_opencl *o)
{
    if (!o || o->lost) return;
    for (int i = 0; i < EK_STAGES; i++)
        if (o->kernel[i]) o->cl->clReleaseKernel(o->kernel[i]);
    if (o->program) o->cl->clReleaseProgram(o->program);
    for (int i = 0; i < EK_STAGES; i++)
        if (o->queue[i]) o->cl->clReleaseCommandQueue(o->queue[i]);
    if (o->context) o->cl->clReleaseContext(o->context);
    free(o);
}

void ek_opencl_get_config(const ek_opencl *o, ek_opencl_config *config)
{
    *config = o->config;
}

ek_status ek_opencl_binary(const ek_opencl *o, void *binary, size_t *bytes, ek_opencl_error *error)
{
    uint8_t *at = binary;
    int32_t code = 0;
    error->text[0] = 0;
    if (!binary)
        code = o->cl->clGetProgramInfo(o->program, CL_PROGRAM_BINARY_SIZES, sizeof *bytes, bytes, NULL);
    else
        code = o->cl->clGetProgramInfo(o->program, CL_PROGRAM_BINARIES, sizeof at, &at, NULL);
    return code ? ek_opencl_fail_call(error, "clGetProgramInfo", code) : EK_OK;
}

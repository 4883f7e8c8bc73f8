#define _GNU_SOURCE
#include "cl.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

static void *look_up(void *library, const char *name)
{
    return dlsym(library, name);
}

const ek_cl *ek_cl_load(char *why, size_t size)
{
    static ek_cl calls;
    static int loaded;
    if (loaded) return &calls;
    const char *const names[] = { "libOpenCL.so.1", "libOpenCL.so" };
    void *library = NULL;
    for (size_t i = 0; i < sizeof names / sizeof *names && !library; i++)
        library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        snprintf(why, size,
                 "no OpenCL loader (libOpenCL.so.1) on this machine; install one and a device's driver, "
                 "for instance: apt-get install ocl-icd-libopencl1 pocl-opencl-icd");
        return NULL;
    }
    ek_cl found;
#define EK_CL_CALL(result, name, arguments)                                        \
    {                                                                              \
        void *at = look_up(library, #name);                                        \
        if (!at) {                                                                 \
            snprintf(why, size, "the OpenCL loader on this machine lacks " #name); \
            dlclose(library);                                                      \
            return NULL;                                                           \
        }                                                                          \
        memcpy(&found.name, &at, sizeof at);                                       \
    }
    EK_CL_CALLS(EK_CL_CALL)
#undef EK_CL_CALL
    calls = found;
    loaded = 1;
    return &calls;
}

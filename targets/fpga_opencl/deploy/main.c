/* Runs a model once on an input of zeros: app DEVICE PROGRAM MODEL.edge [COMPILER OPTIONS].
 * DEVICE is an index; without arguments, the devices are listed. Start here. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "opencl.h"

static ek_opencl_error error;

static void must(ek_status status)
{
    if (!status) return;
    fprintf(stderr, "%s\n", *error.text ? error.text : ek_status_str(status));
    exit(1);
}

static void *read_whole(const char *path, size_t *bytes)
{
    FILE *file = fopen(path, "rb");
    if (!file || fseek(file, 0, SEEK_END)) {
        perror(path);
        exit(1);
    }
    *bytes = (size_t)ftell(file);
    rewind(file);
    void *data = aligned_alloc(4096, (*bytes / 4096 + 1) * 4096);
    if (!data || fread(data, 1, *bytes, file) != *bytes) {
        perror(path);
        exit(1);
    }
    fclose(file);
    return data;
}

static int list_devices(void)
{
    ek_opencl_info info;
    uint32_t i = 0;
    for (; !ek_opencl_device_info(i, &info, &error); i++)
        printf("%u: %s (%s)\n", (unsigned)i, info.name, info.platform);
    if (!i) fprintf(stderr, "%s\n", error.text);
    return i ? 0 : 1;
}

int main(int count, char **arguments)
{
    if (count < 4) return list_devices();
    size_t bytes, memory_bytes;
    ek_model model;
    ek_session *session;
    ek_opencl *device;
    ek_accelerated *accelerated;
    ek_io io;
    ek_opencl_settings settings = { .device = (uint32_t)atoi(arguments[1]), .seconds = 60 };
    settings.program = read_whole(arguments[2], &settings.program_bytes);
    settings.options = count > 4 ? arguments[4] : NULL;
    const void *file = read_whole(arguments[3], &bytes);
    const ek_kernels *kernels = ek_kernels_select(NULL);

    must(ek_opencl_open(&device, &settings, &error));
    must(ek_model_open(&model, file, bytes, EK_OPEN_CHECKSUM));
    must(ek_session_size(&model, kernels, &memory_bytes));
    void *memory = aligned_alloc(4096, (memory_bytes / 4096 + 1) * 4096);
    must(memory ? EK_OK : EK_ERR_MEMORY);
    must(ek_session_init(&session, memory, memory_bytes, &model, kernels));
    must(ek_accelerated_open(&accelerated, device, session, &model, &error));
    for (uint32_t i = 0; i < ek_input_count(&model); i++) {
        must(ek_session_input(session, i, &io));
        memset(io.data, io.zero_point, io.bytes); /* real 0 = quantized zero_point */
    }
    must(ek_accelerated_run(accelerated, &error));
    must(ek_session_output(session, 0, &io));
    for (uint32_t i = 0; i < io.bytes; i++) printf("%d%c", ((int8_t *)io.data)[i], i + 1 < io.bytes ? ' ' : '\n');
    ek_accelerated_close(accelerated);
    ek_opencl_close(device);
    return 0;
}

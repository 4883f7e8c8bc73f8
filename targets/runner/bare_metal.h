/* The runner's world on bare metal under QEMU: memory, stack paint, and semihosting (Arm: Semihosting for
 * AArch32 and AArch64, IHI 0072; RISC-V takes over its operations). For a start.c that has defined
 * semihost() and stack_pointer() before it and lets its reset vector go to start(), its traps to fault().
 */
#ifndef EK_RUNNER_BARE_METAL_H
#define EK_RUNNER_BARE_METAL_H

#include <stdint.h>
#include <string.h>

#include "io.h"

int main(int argc, char **argv);

extern uint32_t __stack_top[], __stack_limit[], __data_load[], __data_start[], __data_end[];
extern uint32_t __bss_start[], __bss_end[];

enum {
    SYS_OPEN = 1,
    SYS_CLOSE = 2,
    SYS_WRITE0 = 4,
    SYS_WRITE = 5,
    SYS_READ = 6,
    SYS_GET_CMDLINE = 0x15,
    SYS_EXIT_EXTENDED = 0x20,
    APPLICATION_EXIT = 0x20026,
    PAINT = 0x5ca1ab1e
};

int io_open(const char *path, int writing)
{
    const uint32_t arguments[3] = { (uint32_t)path, writing ? 5 : 1, (uint32_t)strlen(path) };
    return semihost(SYS_OPEN, arguments);
}

size_t io_read(int handle, void *data, size_t bytes)
{
    const uint32_t arguments[3] = { (uint32_t)handle, (uint32_t)data, bytes };
    return bytes - (size_t)semihost(SYS_READ, arguments);
}

size_t io_write(int handle, const void *data, size_t bytes)
{
    const uint32_t arguments[3] = { (uint32_t)handle, (uint32_t)data, bytes };
    return bytes - (size_t)semihost(SYS_WRITE, arguments);
}

void io_close(int handle)
{
    const uint32_t argument = (uint32_t)handle;
    semihost(SYS_CLOSE, &argument);
}

void io_say(const char *text)
{
    semihost(SYS_WRITE0, text);
}

size_t io_stack_used(void)
{
    const uint32_t *p = __stack_limit;
    while (p < __stack_top && *p == PAINT) p++;
    return (size_t)((const uint8_t *)__stack_top - (const uint8_t *)p);
}

static __attribute__((noreturn)) void leave(int code)
{
    const uint32_t arguments[2] = { APPLICATION_EXIT, (uint32_t)code };
    for (;;) semihost(SYS_EXIT_EXTENDED, arguments);
}

static __attribute__((noreturn, used, aligned(4))) void fault(void)
{
    io_say("fault\n");
    leave(99);
}

/* The command line, cut at spaces. */
static int arguments_of(char *line, char **argv, int most)
{
    int argc = 0;
    for (char *p = line; *p && argc < most;) {
        argv[argc++] = p;
        while (*p && *p != ' ') p++;
        if (*p) *p++ = 0;
    }
    return argc;
}

static __attribute__((noreturn, used)) void start(void)
{
    static char line[512];
    char *argv[4];
    const uint32_t command[2] = { (uint32_t)line, sizeof line };
    const uint32_t *from = __data_load;

    for (uint32_t *to = __data_start; to < __data_end;) *to++ = *from++;
    for (uint32_t *to = __bss_start; to < __bss_end;) *to++ = 0;
    const uint32_t *here = stack_pointer();
    for (volatile uint32_t *p = __stack_limit; p < here - 8; p++) *p = PAINT;
    semihost(SYS_GET_CMDLINE, command);
    leave(main(arguments_of(line, argv, 4), argv));
}

#endif

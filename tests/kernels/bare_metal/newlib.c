/* What newlib asks of a world, for check_kernels on bare metal: a console and a heap. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>

#include "io.h"

int _write(int handle, const char *text, int bytes);
int _isatty(int handle);
int _fstat(int handle, struct stat *about);
void *_sbrk(ptrdiff_t bytes);

int _write(int handle, const char *text, int bytes)
{
    char part[65];
    (void)handle;
    for (int at = 0, now; at < bytes; at += now) {
        now = bytes - at < 64 ? bytes - at : 64;
        memcpy(part, text + at, (size_t)now);
        part[now] = 0;
        io_say(part);
    }
    return bytes;
}

int _isatty(int handle)
{
    (void)handle;
    return 1;
}

int _fstat(int handle, struct stat *about)
{
    (void)handle;
    about->st_mode = S_IFCHR;
    return 0;
}

void *_sbrk(ptrdiff_t bytes)
{
    static uint8_t heap[3 << 20];
    static ptrdiff_t used;
    if (used + bytes > (ptrdiff_t)sizeof heap) return (void *)-1;
    used += bytes;
    return heap + used - bytes;
}

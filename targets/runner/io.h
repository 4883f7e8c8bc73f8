/* What the runner needs of the world: files and a console. Linux has stdio, bare metal semihosting. */
#ifndef EK_RUNNER_IO_H
#define EK_RUNNER_IO_H

#include <stddef.h>

int io_open(const char *path, int writing); /* a handle, or -1 */
size_t io_read(int handle, void *data, size_t bytes);
size_t io_write(int handle, const void *data, size_t bytes);
void io_close(int handle);
void io_say(const char *text);

/* Bytes of stack used since the program started, 0 where that is not known. */
size_t io_stack_used(void);

#endif

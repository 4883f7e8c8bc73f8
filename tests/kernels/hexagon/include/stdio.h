/* The part of <stdio.h> that check_kernels uses; see ../libc.c. */
#ifndef CHECK_STDIO_H
#define CHECK_STDIO_H

#include <stddef.h>

#define stdout ((void *)0)

int printf(const char *format, ...) __attribute__((format(printf, 1, 2)));
int snprintf(char *to, size_t bytes, const char *format, ...) __attribute__((format(printf, 3, 4)));
int fflush(void *file);

#endif

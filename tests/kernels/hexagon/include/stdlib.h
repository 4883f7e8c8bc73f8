#ifndef CHECK_STDLIB_H
#define CHECK_STDLIB_H

#include <stddef.h>

void *malloc(size_t bytes);
void free(void *p);
_Noreturn void exit(int code);
_Noreturn void _Exit(int code);
unsigned long strtoul(const char *text, char **end, int base);

#endif

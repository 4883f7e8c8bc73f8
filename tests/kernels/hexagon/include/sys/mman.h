#ifndef CHECK_MMAN_H
#define CHECK_MMAN_H

#include <stddef.h>

#define PROT_NONE     0
#define PROT_READ     1
#define PROT_WRITE    2
#define MAP_PRIVATE   2
#define MAP_ANONYMOUS 32
#define MAP_FAILED    ((void *)-1)

void *mmap(void *at, size_t bytes, int protection, int flags, int file, long offset);
int munmap(void *at, size_t bytes);
int mprotect(void *at, size_t bytes, int protection);

#endif

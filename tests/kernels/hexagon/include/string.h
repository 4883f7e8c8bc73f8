#include_next <string.h>

#ifndef CHECK_STRING_H
#define CHECK_STRING_H

int strcmp(const char *a, const char *b);

#endif

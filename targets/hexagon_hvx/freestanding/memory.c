/* memcpy and its family on HVX. Lines of 128 bytes are touched only where a byte of theirs is asked for. */
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "../hvx/vectors.h"

void *memcpy(void *restrict to, const void *restrict from, size_t bytes)
{
    int8_t *t = to;
    const int8_t *f = from;
    for (; bytes > EK_LINE; bytes -= EK_LINE, t += EK_LINE, f += EK_LINE) ek_store(t, ek_load(f));
    if (bytes) ek_store_some(t, ek_load_some(f, bytes), bytes);
    return to;
}

void *memmove(void *to, const void *from, size_t bytes)
{
    int8_t *t = to;
    const int8_t *f = from;
    if ((uintptr_t)t - (uintptr_t)f >= bytes) { /* to is not within from: upwards */
        for (; bytes > EK_LINE; bytes -= EK_LINE, t += EK_LINE, f += EK_LINE) ek_store(t, ek_load(f));
    } else {
        for (; bytes > EK_LINE; bytes -= EK_LINE) ek_store(t + bytes - EK_LINE, ek_load(f + bytes - EK_LINE));
    }
    if (bytes) ek_store_some(t, ek_load_some(f, bytes), bytes);
    return to;
}

void *memset(void *to, int value, size_t bytes)
{
    int8_t *t = to;
    const HVX_Vector v = ek_splat_byte((int8_t)value);
    for (; bytes > EK_LINE; bytes -= EK_LINE, t += EK_LINE) ek_store(t, v);
    if (bytes) ek_store_some(t, v, bytes);
    return to;
}

int memcmp(const void *a, const void *b, size_t bytes)
{
    const uint8_t *p = a, *q = b;
    for (size_t i = 0; i < bytes; i++)
        if (p[i] != q[i]) return p[i] - q[i];
    return 0;
}

size_t strlen(const char *text)
{
    size_t n = 0;
    while (text[n]) n++;
    return n;
}

/* What the compiler calls for copies of structs. */
void __hexagon_memcpy_likely_aligned_min32bytes_mult8bytes(void *to, const void *from, uint32_t bytes);
void __hexagon_memcpy_likely_aligned_min32bytes_mult8bytes(void *to, const void *from, uint32_t bytes)
{
    memcpy(to, from, bytes);
}

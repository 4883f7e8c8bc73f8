#if defined(__linux__)
#define _DEFAULT_SOURCE /* mmap */
#include <sys/mman.h>
#include <unistd.h>
#endif

#include "check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { GUARD = 96 };

uint32_t check_trials = 1200;
bool check_pages = true;

static uint32_t rng_state = 1;

void rnd_seed(uint32_t seed)
{
    rng_state = seed ? seed : 1;
    for (int i = 0; i < 8; i++) rnd(); /* small seeds start with many zero bits */
}

uint32_t rnd(void) /* xorshift: the same on every machine */
{
    rng_state ^= rng_state << 13;
    rng_state ^= rng_state >> 17;
    return rng_state ^= rng_state << 5;
}

int32_t rnd_between(int32_t lo, int32_t hi)
{
    const uint64_t span = (uint64_t)((int64_t)hi - lo) + 1;
    return (int32_t)(lo + (int64_t)(((uint64_t)rnd() * span) >> 32));
}

static void *allocate(size_t bytes)
{
    void *p = malloc(bytes ? bytes : 1);
    if (!p) {
        printf("out of memory: %lu bytes\n", (unsigned long)bytes);
        exit(2);
    }
    return p;
}

#if defined(__linux__)
static block between_pages(size_t bytes)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), inner = (bytes + page - 1) / page * page;
    uint8_t *map = mmap(NULL, inner + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (map == MAP_FAILED || (inner && mprotect(map + page, inner, PROT_READ | PROT_WRITE))) {
        printf("no memory map of %lu bytes\n", (unsigned long)bytes);
        exit(2);
    }
    return (block){ map, map + page + (rnd() % 4 ? inner - bytes : 0), inner + 2 * page };
}

#elif defined(__arm__)
/* Bare metal: one block at a time ends where the memory does, and an access beyond it faults. */
extern uint8_t __ram_end[], __stack_top[];
static bool cliff_taken;

static block at_cliff(size_t bytes)
{
    cliff_taken = true;
    return (block){ NULL, __ram_end - bytes, bytes };
}

#endif

static block from_malloc(size_t bytes, size_t align)
{
    const size_t lead = (rnd() % 16) & ~(align - 1);
    uint8_t *start = allocate(bytes + lead);
    if ((uintptr_t)start % align) { /* malloc aligns to 8 only on some 32-bit cores */
        free(start);
        start = allocate(bytes + 2 * align);
        return (block){ start, start + align - (uintptr_t)start % align, 0 };
    }
    return (block){ start, start + lead, 0 };
}

block block_make(size_t bytes, size_t align)
{
#if defined(__linux__)
    if (check_pages && rnd() & 1) return between_pages(bytes);
#elif defined(__arm__)
    if (bytes && bytes < (size_t)(__ram_end - __stack_top) && !cliff_taken && rnd() % 4 == 0) return at_cliff(bytes);
#endif
    return from_malloc(bytes, align);
}

void block_free(block b)
{
#if defined(__linux__)
    if (b.mapped) {
        munmap(b.start, b.mapped);
        return;
    }
#elif defined(__arm__)
    if (b.mapped) {
        cliff_taken = false;
        return;
    }
#endif
    free(b.start);
}

void fill_s8(int8_t *p, size_t count)
{
    const uint32_t kind = rnd() % 5;
    for (size_t i = 0; i < count; i++) {
        const uint32_t v = rnd();
        p[i] = kind == 0   ? INT8_MIN
               : kind == 1 ? INT8_MAX
               : kind == 2 ? (v & 256 ? INT8_MIN : INT8_MAX)
                           : (int8_t)(v >> 8);
    }
}

void fill_weights(int8_t *p, size_t count)
{
    fill_s8(p, count);
    if (rnd() % 4 == 0) return;
    for (size_t i = 0; i < count; i++)
        if (p[i] == INT8_MIN) p[i] = -INT8_MAX;
}

void fill_f32(float *p, size_t count)
{
    for (size_t i = 0; i < count; i++) p[i] = (float)rnd_between(-1000000, 1000000) * 1e-6f;
}

output output_make(size_t bytes, size_t align)
{
    output o = { allocate(bytes + 2 * GUARD), NULL, bytes };
    o.data = o.all + GUARD - (uintptr_t)o.all % 16 - (rnd() % 16 & ~(align - 1));
    for (size_t i = 0; i < bytes + 2 * GUARD; i++) o.all[i] = 0xa5;
    for (size_t i = 0; i < bytes; i++) o.data[i] = (uint8_t)(i * 37 + 11);
    return o;
}

void output_free(output o)
{
    free(o.all);
}

bool output_equal(const output *a, const output *b, ptrdiff_t *where)
{
    const ptrdiff_t lead = GUARD - 32;
    for (ptrdiff_t i = -lead; i < (ptrdiff_t)a->bytes + lead; i++)
        if (a->data[i] != b->data[i]) {
            *where = i;
            return false;
        }
    return true;
}

int32_t bias_between(int32_t lo, int32_t hi, int32_t some, int32_t reach, int64_t *bound)
{
    const int32_t most = (1 << 30) - 1 - hi, least = -(1 << 30) + 1 - lo;
    int32_t bias;
    switch (rnd() % 8) {
    case 0: bias = most; break;
    case 1: bias = least; break;
    case 2: bias = rnd_between(least, most); break;
    case 3:
    case 4: bias = rnd_between(-9, 9) - some; break;
    default: bias = rnd_between(-reach, reach);
    }
    const int64_t up = (int64_t)bias + hi, down = -((int64_t)bias + lo);
    *bound = up > down ? up : down;
    return bias;
}

requant_data requant_make(const int64_t *bound, size_t n)
{
    requant_data r = { block_make(n * 4, 4), block_make(n, 1), 0, 0, 0 };
    int32_t *m = r.multiplier.data;
    int8_t *s = r.shift.data;
    const uint32_t kind = rnd() % 6; /* 0: no left shifts, as in most models; 1: extremes */
    const size_t lone = rnd() % n;   /* 4, 5: but for this one, by so few bits that results stay within int8 */
    const int32_t few = rnd() & 1 ? 30 : rnd_between(1, 5);
    for (size_t j = 0; j < n; j++) {
        const uint32_t pick = rnd() % 6;
        m[j] = pick == 0   ? 1 << 30
               : pick == 1 ? INT32_MAX
               : pick == 2 ? rnd_between(1, INT32_MAX) >> rnd() % 13 | 1
                           : rnd_between(1 << 30, INT32_MAX);
        int32_t most = 0;
        while (most < 30 && (bound[j] << (most + 1)) < (INT64_C(1) << 30)) most++;
        s[j] = (int8_t)(kind == 0   ? rnd_between(-30, 0)
                        : kind == 1 ? (rnd() & 1 ? most : -30)
                        : kind == 2 ? rnd_between(-12, 0) /* results in and around the int8 range */
                        : kind >= 4 ? (j == lone ? (most < few ? most : few) : rnd_between(-30, 0))
                                    : rnd_between(-30, most));
    }
    const int32_t a = rnd_between(-128, 127), b = rnd_between(-128, 127);
    const bool whole = rnd() & 1;
    r.zero_point = rnd() % 3 ? rnd_between(-128, 127) : (rnd() & 1 ? 127 : -128);
    r.qmin = whole ? -128 : a < b ? a : b;
    r.qmax = whole ? 127 : a < b ? b : a;
    return r;
}

void requant_free(requant_data r)
{
    block_free(r.multiplier);
    block_free(r.shift);
}

static double now(void)
{
    return (double)clock() / (double)CLOCKS_PER_SEC;
}

double seconds_per_call(void (*fn)(void *), void *context)
{
    uint32_t calls = 1;
    double best = 1e9;
    for (int round = 0; round < 9;) {
        const double start = now();
        for (uint32_t i = 0; i < calls; i++) fn(context);
        const double took = now() - start;
        if (took < 0.004) { /* too short for the clock: not counted */
            calls *= 2;
            continue;
        }
        if (took / calls < best) best = took / calls;
        round++;
    }
    return best;
}

void bench_line(const char *slot, const char *shape, const char *table, double work, double ref, double opt,
                const char *unit)
{
    printf("  %-15s %-24s %-15s %9.2f %s  x %.1f\n", slot, shape, table, work / opt * 1e-9, unit, ref / opt);
}

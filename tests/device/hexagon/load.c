/* Loads libedgekit_model.so where memory happens to be, as a phone's loader does, and runs it:
 *     load LIBRARY INPUTS OUTPUTS
 * Only relative relocations are known: others are a library that needs more than itself. */
#include <stdint.h>
#include <string.h>

#include "edgekit_dsp.h"
#include "io.h"

enum { FILE_ROOM = 8 << 20, ROOM = 32 << 20, PAGE = 1 << 16, RELATIVE = 35, MMAP = 222, ALL_RIGHTS = 7, PRIVATE = 34 };
enum { LOAD = 1, DYNAMIC = 2, DT_HASH = 4, DT_STRTAB = 5, DT_SYMTAB = 6, DT_RELA = 7, DT_RELASZ = 8, DT_JMPREL = 23 };

typedef struct segment {
    uint32_t type, offset, address, physical, file_bytes, bytes, flags, align;
} segment;
typedef struct symbol {
    uint32_t name, value, size, rest;
} symbol;
typedef struct relocation {
    uint32_t offset, info;
    int32_t addend;
} relocation;

long ek_system_call(long number, long a, long b, long c, long d, long e, long f);

static uint8_t file[FILE_ROOM] __attribute__((aligned(16)));
static uint8_t room[ROOM] __attribute__((aligned(EDGEKIT_DSP_ALIGN)));
static uint32_t dynamic[32];

static uint8_t *place(void)
{
    uint16_t count;
    uint32_t at;
    memcpy(&at, file + 28, 4);
    memcpy(&count, file + 44, 2);
    uint8_t *const base = (uint8_t *)ek_system_call(MMAP, 0, FILE_ROOM, ALL_RIGHTS, PRIVATE, -1, 0);
    for (uint32_t i = 0; i < count; i++) {
        segment s;
        memcpy(&s, file + at + i * sizeof s, sizeof s);
        if (s.type == LOAD) memcpy(base + s.address, file + s.offset, s.file_bytes);
        if (s.type != DYNAMIC) continue;
        for (const uint32_t *d = (const uint32_t *)(file + s.offset); d[0]; d += 2)
            if (d[0] < 32) dynamic[d[0]] = d[1];
    }
    return base;
}

static int relocate(uint8_t *base)
{
    const relocation *r = (const relocation *)(base + dynamic[DT_RELA]);
    for (uint32_t i = 0; i < dynamic[DT_RELASZ] / sizeof *r; i++) {
        if (r[i].info != RELATIVE) return 1;
        *(uint32_t *)(base + r[i].offset) = (uint32_t)(uintptr_t)base + (uint32_t)r[i].addend;
    }
    return dynamic[DT_JMPREL] != 0;
}

static void *find(const uint8_t *base, const char *name)
{
    const symbol *s = (const symbol *)(base + dynamic[DT_SYMTAB]);
    const uint32_t count = ((const uint32_t *)(base + dynamic[DT_HASH]))[1];
    for (uint32_t i = 1; i < count; i++) {
        const char *found = (const char *)base + dynamic[DT_STRTAB] + s[i].name;
        if (strlen(found) == strlen(name) && !memcmp(found, name, strlen(name))) return (void *)(base + s[i].value);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    edgekit_dsp_bytes n;
    if (argc != 4) return 1;
    const int library = io_open(argv[1], 0), in = io_open(argv[2], 0), out = io_open(argv[3], 1);
    if (library < 0 || in < 0 || out < 0 || !io_read(library, file, sizeof file)) return 2;
    uint8_t *const base = place();
    if (relocate(base)) return 3;
    int (*const sizes)(edgekit_dsp_bytes *) = find(base, "edgekit_dsp_sizes");
    int (*const open)(void *, uint32_t) = find(base, "edgekit_dsp_open");
    int (*const run)(void *, const void *, uint32_t, void *, uint32_t) = find(base, "edgekit_dsp_run");
    if (!sizes || !open || !run || find(base, "ek_run") || sizes(&n)) return 4;
    uint8_t *const inputs = room + n.memory, *const outputs = inputs + n.inputs;
    if (n.memory + n.inputs + n.outputs > ROOM || !io_read(in, inputs, n.inputs)) return 5;
    if (open(room + 16, n.memory) == 0 || run(room, inputs, n.inputs, outputs, n.outputs) == 0) return 6;
    if (open(room, n.memory) || run(room, inputs, n.inputs, outputs, n.outputs)) return 7;
    return io_write(out, outputs, n.outputs) == n.outputs ? 0 : 8;
}

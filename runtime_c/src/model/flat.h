/* FlatBuffers read in place, every access checked. Positions are bytes from the file's start; a file is smaller than
 * 2^31 bytes. An offset is compared with what is left behind a position before it is added: 32 bits are enough. */
#ifndef EK_FLAT_H
#define EK_FLAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "an .edge file is read in place: the runtime needs a little-endian machine"
#endif

typedef struct ek_flat_file {
    const uint8_t *data;
    uint32_t bytes;
} ek_flat_file;

typedef struct ek_flat_table {
    uint32_t pos, bytes, vtable, vtable_bytes;
} ek_flat_table;

typedef struct ek_flat_vector {
    const uint8_t *data; /* NULL when the field is absent */
    uint32_t count;
} ek_flat_vector;

static inline uint16_t ek_flat_u16(const uint8_t *p)
{
    uint16_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

static inline uint32_t ek_flat_u32(const uint8_t *p)
{
    uint32_t v;
    memcpy(&v, p, sizeof v);
    return v;
}

static inline bool ek_flat_inside(const ek_flat_file *f, uint32_t pos, uint32_t bytes)
{
    return pos <= f->bytes && bytes <= f->bytes - pos;
}

/* *pos: where the offset that lies at `from` leads. False if that is not a multiple of 4 with `bytes` in the file. */
static inline bool ek_flat_follow(const ek_flat_file *f, const uint8_t *from, uint32_t bytes, uint32_t *pos)
{
    const uint32_t base = (uint32_t)(from - f->data), offset = ek_flat_u32(from);
    *pos = base + offset;
    return offset <= f->bytes - base && *pos % 4 == 0 && ek_flat_inside(f, *pos, bytes);
}

/* The table that the offset at `from` leads to. */
static inline bool ek_flat_open_table(const ek_flat_file *f, const uint8_t *from, ek_flat_table *t)
{
    uint32_t pos;
    if (!ek_flat_follow(f, from, 4, &pos)) return false;
    /* Where the difference is negative it is beyond 2^31, and outside. */
    const uint32_t vtable = pos - ek_flat_u32(f->data + pos);
    if (vtable % 2 || !ek_flat_inside(f, vtable, 4)) return false;
    t->pos = pos;
    t->vtable = vtable;
    t->vtable_bytes = ek_flat_u16(f->data + vtable);
    t->bytes = ek_flat_u16(f->data + vtable + 2);
    return t->vtable_bytes >= 4 && t->vtable_bytes % 2 == 0 && t->bytes >= 4 &&
           ek_flat_inside(f, vtable, t->vtable_bytes) && ek_flat_inside(f, pos, t->bytes);
}

/* *at: the field's bytes, NULL when it is absent. False when it does not lie inside the table. Alignments are
 * powers of two: a remainder of 64 bits would call the compiler's library on small cores. */
static inline bool ek_flat_field(const ek_flat_file *f, const ek_flat_table *t, uint32_t slot, uint32_t bytes,
                                 uint32_t align, const uint8_t **at)
{
    const uint32_t offset = slot + 2 <= t->vtable_bytes ? ek_flat_u16(f->data + t->vtable + slot) : 0;
    *at = NULL;
    if (!offset) return true;
    if (offset < 4 || offset > t->bytes || bytes > t->bytes - offset || ((t->pos + offset) & (align - 1))) return false;
    *at = f->data + t->pos + offset;
    return true;
}

/* A ushort; 0, the schema's default, when absent. */
static inline bool ek_flat_ushort(const ek_flat_file *f, const ek_flat_table *t, uint32_t slot, uint16_t *value)
{
    const uint8_t *at;
    if (!ek_flat_field(f, t, slot, 2, 2, &at)) return false;
    *value = at ? ek_flat_u16(at) : 0;
    return true;
}

static inline bool ek_flat_open_vector(const ek_flat_file *f, const ek_flat_table *t, uint32_t slot, uint32_t element,
                                       uint32_t align, ek_flat_vector *v)
{
    const uint8_t *at;
    v->data = NULL;
    v->count = 0;
    if (!ek_flat_field(f, t, slot, 4, 4, &at)) return false;
    if (!at) return true;
    uint32_t pos;
    if (!ek_flat_follow(f, at, 4, &pos)) return false;
    const uint32_t count = ek_flat_u32(f->data + pos);
    pos += 4;
    if (pos & (align - 1) || (uint64_t)count * element > f->bytes - pos) return false;
    v->data = f->data + pos;
    v->count = count;
    return true;
}

/* A string that is there and ends in NUL. */
static inline bool ek_flat_open_string(const ek_flat_file *f, const ek_flat_table *t, uint32_t slot, const char **text)
{
    ek_flat_vector v;
    if (!ek_flat_open_vector(f, t, slot, 1, 1, &v) || !v.data) return false;
    if (v.count >= f->bytes - (uint32_t)(v.data - f->data) || v.data[v.count]) return false;
    *text = (const char *)v.data;
    return true;
}

/* Element i of a vector of tables. */
static inline bool ek_flat_element(const ek_flat_file *f, const uint8_t *tables, uint32_t i, ek_flat_table *t)
{
    return ek_flat_open_table(f, tables + 4 * (size_t)i, t);
}

#endif

/* FlatBuffers read in place, every access checked. Positions are bytes from the file's start;
 * a file is smaller than 2^31 bytes, so a position plus any 32-bit offset fits 64 bits. */
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

static inline bool ek_flat_inside(const ek_flat_file *f, uint64_t pos, uint64_t bytes)
{
    return pos <= f->bytes && bytes <= f->bytes - pos;
}

static inline bool ek_flat_open_table(const ek_flat_file *f, uint64_t pos, ek_flat_table *t)
{
    if (pos % 4 || !ek_flat_inside(f, pos, 4)) return false;
    const int64_t vtable = (int64_t)pos - (int32_t)ek_flat_u32(f->data + pos);
    if (vtable < 0 || vtable % 2 || !ek_flat_inside(f, (uint64_t)vtable, 4)) return false;
    t->pos = (uint32_t)pos;
    t->vtable = (uint32_t)vtable;
    t->vtable_bytes = ek_flat_u16(f->data + vtable);
    t->bytes = ek_flat_u16(f->data + vtable + 2);
    return t->vtable_bytes >= 4 && t->vtable_bytes % 2 == 0 && t->bytes >= 4 &&
           ek_flat_inside(f, t->vtable, t->vtable_bytes) && ek_flat_inside(f, pos, t->bytes);
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
    const uint64_t pos = (uint64_t)(at - f->data) + ek_flat_u32(at);
    if (pos % 4 || ((pos + 4) & (align - 1)) || !ek_flat_inside(f, pos, 4)) return false;
    const uint32_t count = ek_flat_u32(f->data + pos);
    if (!ek_flat_inside(f, pos + 4, (uint64_t)count * element)) return false;
    v->data = f->data + pos + 4;
    v->count = count;
    return true;
}

/* A string that is there and ends in NUL. */
static inline bool ek_flat_open_string(const ek_flat_file *f, const ek_flat_table *t, uint32_t slot, const char **text)
{
    ek_flat_vector v;
    if (!ek_flat_open_vector(f, t, slot, 1, 1, &v) || !v.data) return false;
    if (!ek_flat_inside(f, (uint64_t)(v.data - f->data) + v.count, 1) || v.data[v.count]) return false;
    *text = (const char *)v.data;
    return true;
}

/* Element i of a vector of tables. */
static inline bool ek_flat_element(const ek_flat_file *f, const uint8_t *tables, uint32_t i, ek_flat_table *t)
{
    const uint8_t *at = tables + 4 * (size_t)i;
    return ek_flat_open_table(f, (uint64_t)(at - f->data) + ek_flat_u32(at), t);
}

#endif

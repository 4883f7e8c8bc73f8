#include "updates.h"

#include <stdbool.h>

#include "update/coding.h"

/* The coder of binary decisions of update.c; carries go through bytes that are held back. */
typedef struct coder {
    ek_update_odds odds;
    uint64_t low;
    uint32_t range, held, most, bytes, zeros;
    uint8_t first, *out;
    bool begun;
} coder;

static void put_byte(coder *c, uint32_t byte)
{
    if (c->begun) { /* the first is always 0, and left out */
        if (c->bytes < c->most) c->out[c->bytes] = (uint8_t)byte;
        c->bytes++;
    }
    c->begun = true;
}

static void shift_low(coder *c)
{
    if (c->low < 0xFF000000 || c->low >> 32) {
        const uint32_t carry = (uint32_t)(c->low >> 32);
        for (uint32_t byte = c->first; c->held; c->held--, byte = 255) put_byte(c, (byte + carry) & 255);
        c->first = (uint8_t)(c->low >> 24);
    }
    c->held++;
    c->low = (c->low & 0xFFFFFF) << 8;
}

static void put_bit(coder *c, uint16_t *p, uint32_t bit)
{
    if (c->range < RANGE_LOW) {
        c->range <<= 8;
        shift_low(c);
    }
    const uint32_t bound = (c->range >> ODDS_BITS) * *p;
    c->low += bit ? bound : 0;
    c->range = bit ? c->range - bound : bound;
    odds_learn(p, bit);
}

static void put_number(coder *c, uint16_t *odds, uint32_t number)
{
    const uint64_t value = (uint64_t)number + 1;
    uint32_t bits = 0;
    while (value >> (bits + 1)) put_bit(c, odds_longer(odds, bits++), 1);
    if (bits < NUMBER_BITS) put_bit(c, odds_longer(odds, bits), 0);
    while (bits--) put_bit(c, odds_number(odds, (uint32_t)(value >> (bits + 1))), value >> bits & 1);
}

static void put_literal(coder *c, uint16_t *odds, uint32_t byte)
{
    for (uint32_t i = 8, value = 1; i--; value = value << 1 | (byte >> i & 1)) put_bit(c, &odds[value], byte >> i & 1);
}

static void put_difference(coder *c, uint32_t byte)
{
    put_bit(c, &c->odds.zero[c->zeros], byte != 0);
    c->zeros = (c->zeros << 1 | (byte != 0)) & 7;
    if (byte) put_literal(c, c->odds.byte[1], byte);
}

uint32_t ek_update_code(const ek_update_run *runs, uint32_t count, const uint8_t *file, const uint8_t *old,
                        uint8_t *out, uint32_t most)
{
    coder c = { .range = UINT32_MAX, .held = 1, .most = most, .out = out };
    uint32_t at = 0, last = 0, shift = 0;
    odds_start(&c.odds);
    for (uint32_t i = 0; i < count; i++) {
        const ek_update_run *r = &runs[i];
        put_bit(&c, &c.odds.kind[last][0], r->kind != UPDATE_LITERAL);
        if (r->kind) put_bit(&c, &c.odds.kind[last][1], r->kind == UPDATE_DIFFERENCE);
        last = r->kind;
        put_number(&c, c.odds.length[r->kind], r->length - 1);
        if (r->kind == UPDATE_MATCH) put_number(&c, c.odds.operand[0], at - r->from - 1);
        if (r->kind == UPDATE_DIFFERENCE) {
            const uint32_t step = r->from - at - shift;
            put_number(&c, c.odds.operand[1], step << 1 ^ (0 - (step >> 31)));
            shift += step;
        }
        for (uint32_t j = 0; j < r->length && r->kind != UPDATE_MATCH; j++) {
            if (r->kind == UPDATE_LITERAL)
                put_literal(&c, c.odds.byte[0], file[at + j]);
            else
                put_difference(&c, (file[at + j] - old[r->from + j]) & 255);
        }
        at += r->length;
    }
    for (uint32_t i = 0; i < 5; i++) shift_low(&c);
    return c.bytes <= most ? c.bytes : 0;
}

static int keep_page(void *user, uint32_t offset, const uint8_t *page, uint32_t bytes)
{
    uint8_t *out = user;
    for (uint32_t i = 0; i < bytes; i++) out[offset + i] = page[i];
    return 0;
}

int32_t ek_update_apply(const uint8_t *update, uint32_t n, uint32_t piece, const uint8_t *old, uint32_t old_bytes,
                        uint8_t *out, uint32_t capacity, uint32_t *made)
{
    const ek_update_flash flash = {
        .old_file = old, .old_bytes = old_bytes, .new_file = out, .capacity = capacity, .write = keep_page, .user = out
    };
    ek_update u;
    ek_status status = ek_update_init(&u, &flash);
    for (uint32_t at = 0; at < n && !status && piece; at += piece)
        status = ek_update_feed(&u, update + at, n - at < piece ? n - at : piece);
    return status ? status : ek_update_finish(&u, made);
}

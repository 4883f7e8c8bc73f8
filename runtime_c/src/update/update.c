/* Commands of updates, one behind the other until the new file is whole (docs/updates.md). All input of one command is
 * in `input` before it is decoded: a command takes 2 + 2 * 62 bits of 7.05 bits each at most, which is 111 bytes. */
#include "update/coding.h"
#include "update/sha256.h"

enum { UPDATE_STEP = 112 };
_Static_assert(sizeof(ek_update) <= 2048, "the state is at most 2 KB");

static uint32_t update_bit(ek_update *u, uint16_t *p)
{
    if (u->range < RANGE_LOW) {
        if (u->taken >= u->have)
            u->status = EK_ERR_CORRUPT;
        else
            u->code = u->code << 8 | u->input[u->taken++];
        u->range <<= 8;
    }
    const uint32_t bound = (u->range >> ODDS_BITS) * *p;
    const uint32_t bit = u->code >= bound;
    if (bit) {
        u->code -= bound;
        u->range -= bound;
    } else {
        u->range = bound;
    }
    odds_learn(p, bit);
    return bit;
}

static uint32_t update_number(ek_update *u, uint16_t *odds)
{
    uint32_t bits = 0, value = 1;
    while (bits < NUMBER_BITS && update_bit(u, odds_longer(odds, bits))) bits++;
    for (; bits; bits--) value = value << 1 | update_bit(u, odds_number(odds, value));
    return value - 1;
}

static uint32_t update_byte(ek_update *u, uint16_t *odds)
{
    uint32_t value = 1;
    while (value < 256) value = value << 1 | update_bit(u, &odds[value]);
    return value & 255;
}

static uint32_t update_difference(ek_update *u)
{
    const uint32_t differs = update_bit(u, &u->odds.zero[u->zeros]);
    u->zeros = (u->zeros << 1 | differs) & 7;
    return differs ? update_byte(u, u->odds.byte[1]) : 0;
}

static void update_command(ek_update *u)
{
    uint16_t *kind = u->odds.kind[u->kind];
    bool valid = true;
    u->kind = update_bit(u, &kind[0]) ? UPDATE_MATCH + update_bit(u, &kind[1]) : UPDATE_LITERAL;
    u->left = update_number(u, u->odds.length[u->kind]);
    if (u->left >= u->new_bytes - u->at) valid = false;
    u->left++;
    if (u->kind != UPDATE_LITERAL) {
        const uint32_t operand = update_number(u, u->odds.operand[u->kind - UPDATE_MATCH]);
        if (u->kind == UPDATE_MATCH) {
            u->source = u->at - operand - 1;
            if (operand >= u->at) valid = false;
        } else {
            u->shift += operand >> 1 ^ (0 - (operand & 1));
            u->source = u->at + u->shift;
            if (u->source > u->flash->old_bytes || u->left > u->flash->old_bytes - u->source) valid = false;
        }
    }
    if (!valid) u->status = EK_ERR_CORRUPT;
}

static void update_step(ek_update *u)
{
    if (!u->left) {
        update_command(u);
        return;
    }
    const uint32_t start = u->at - u->at % EK_UPDATE_PAGE;
    uint32_t byte;
    if (u->kind == UPDATE_LITERAL)
        byte = update_byte(u, u->odds.byte[0]);
    else if (u->kind == UPDATE_DIFFERENCE)
        byte = update_difference(u) + u->flash->old_file[u->source];
    else
        byte = u->source >= start ? u->page[u->source - start] : u->flash->new_file[u->source];
    u->source++;
    u->left--;
    u->page[u->at++ - start] = (uint8_t)byte;
    if (u->status || (u->at % EK_UPDATE_PAGE && u->at != u->new_bytes)) return;
    if (u->flash->write(u->flash->user, start, u->page, u->at - start)) u->status = EK_ERR_DEVICE;
}

static uint32_t word_at(const uint8_t *p)
{
    return p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

/* The header, once all of it is there. */
static ek_status update_head(ek_update *u)
{
    const ek_update_flash *flash = u->flash;
    const uint8_t *in = u->input;
    if (u->have >= 4 && word_at(in) != UPDATE_MAGIC) return EK_ERR_VERSION;
    if (u->have < UPDATE_HEAD) return EK_OK;
    const uint32_t old_bytes = word_at(in + 4);
    if (u->have < (old_bytes ? UPDATE_HEAD_OLD : UPDATE_HEAD) + UPDATE_CODE) return EK_OK;
    u->taken = old_bytes ? UPDATE_HEAD_OLD : UPDATE_HEAD;
    if (old_bytes && (old_bytes != flash->old_bytes || !ek_sha256_is(flash->old_file, old_bytes, in + UPDATE_HEAD)))
        return EK_ERR_ARG;
    u->new_bytes = word_at(in + 8);
    u->pending = word_at(in + 12);
    for (uint32_t i = 0; i < EK_UPDATE_DIGEST; i++) u->digest[i] = in[16 + i];
    if (u->new_bytes > flash->capacity) return EK_ERR_MEMORY;
    if (!u->new_bytes || u->pending < UPDATE_CODE || u->pending < u->have - u->taken) return EK_ERR_CORRUPT;
    u->pending -= u->have - u->taken;
    for (uint32_t i = 0; i < UPDATE_CODE; i++) u->code = u->code << 8 | u->input[u->taken++];
    return EK_OK;
}

ek_status ek_update_init(ek_update *update, const ek_update_flash *flash)
{
    if (!update || !flash || !flash->new_file || !flash->write || (flash->old_bytes && !flash->old_file))
        return EK_ERR_ARG;
    uint8_t *all = (uint8_t *)update;
    for (size_t i = 0; i < sizeof *update; i++) all[i] = 0;
    update->flash = flash;
    update->range = UINT32_MAX;
    odds_start(&update->odds);
    return EK_OK;
}

/* Steps whose input is there: all of them when nothing is pending. */
static void update_steps(ek_update *u)
{
    while (!u->status && u->at < u->new_bytes && (!u->pending || u->have - u->taken >= UPDATE_STEP)) update_step(u);
    if (u->at == u->new_bytes) u->taken = u->have;
    for (uint32_t i = u->taken; i < u->have; i++) u->input[i - u->taken] = u->input[i];
    u->have -= u->taken;
    u->taken = 0;
}

ek_status ek_update_feed(ek_update *update, const uint8_t *bytes, size_t n)
{
    if (!update || (n && !bytes)) return EK_ERR_ARG;
    ek_update *u = update;
    for (size_t i = 0; i < n && !u->status; i++) {
        if (u->new_bytes && !u->pending) {
            u->status = EK_ERR_CORRUPT;
            break;
        }
        u->input[u->have++] = bytes[i];
        if (!u->new_bytes)
            u->status = update_head(u);
        else
            u->pending--;
        if (u->new_bytes && (!u->pending || u->have == EK_UPDATE_INPUT)) update_steps(u);
    }
    return u->status;
}

ek_status ek_update_finish(ek_update *update, uint32_t *bytes)
{
    if (!update || !bytes) return EK_ERR_ARG;
    const ek_update *u = update;
    if (u->status) return u->status;
    if (!u->new_bytes || u->at != u->new_bytes) return EK_ERR_CORRUPT;
    if (!ek_sha256_is(u->flash->new_file, u->new_bytes, u->digest)) return EK_ERR_CHECKSUM;
    *bytes = u->new_bytes;
    return EK_OK;
}

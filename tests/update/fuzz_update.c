/* Mutants of an update, fed in pieces of random size to places of exactly its size: fuzz_update OLD UPDATE ROUNDS. */
#include "edgekit/update.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint32_t seed = 1;

static uint32_t drawn(uint32_t below)
{
    seed = seed * 1664525 + 1013904223;
    return (uint32_t)((uint64_t)seed * below >> 32);
}

typedef struct place {
    uint8_t *bytes;
    uint32_t capacity, next;
} place;

static int write_page(void *user, uint32_t offset, const uint8_t *page, uint32_t bytes)
{
    place *to = user;
    if (offset != to->next || !bytes || bytes > EK_UPDATE_PAGE || bytes > to->capacity - offset) abort();
    memcpy(to->bytes + offset, page, bytes);
    to->next += bytes;
    return !drawn(5000);
}

static uint8_t *whole(const char *path, uint32_t *n)
{
    uint8_t *bytes = malloc(1 << 20);
    FILE *file = fopen(path, "rb");
    *n = (uint32_t)fread(bytes, 1, 1 << 20, file);
    fclose(file);
    return realloc(bytes, *n);
}

int main(int argc, char **argv)
{
    uint32_t old_bytes, n, made, good = 0;
    if (argc != 4) return 2;
    uint8_t *old = whole(argv[1], &old_bytes), *update = whole(argv[2], &n), *mutant = malloc(n);
    const uint32_t size = update[8] | (uint32_t)update[9] << 8 | (uint32_t)update[10] << 16;
    ek_update *u = malloc(sizeof *u);
    for (long i = atol(argv[3]); i; i--) {
        place to = { .bytes = malloc(size), .capacity = size };
        const ek_update_flash flash = { old, old_bytes, to.bytes, size, write_page, &to };
        memcpy(mutant, update, n);
        for (uint32_t changes = drawn(4); changes; changes--) {
            const uint32_t at = drawn(8) ? 80 + drawn(n - 80) : drawn(n);
            mutant[at] = (uint8_t)(drawn(3) ? mutant[at] ^ 1u << drawn(8) : drawn(256));
        }
        const uint32_t end = drawn(4) ? n : drawn(n);
        if (ek_update_init(u, &flash)) abort();
        for (uint32_t at = 0, piece; at < end; at += piece) {
            piece = 1 + drawn(end - at < 300 ? end - at : 300);
            uint8_t *copy = malloc(piece);
            memcpy(copy, mutant + at, piece);
            ek_update_feed(u, copy, piece);
            free(copy);
        }
        good += ek_update_finish(u, &made) == EK_OK;
        free(to.bytes);
    }
    printf("%u\n", good);
    free(old), free(update), free(mutant), free(u);
    return 0;
}

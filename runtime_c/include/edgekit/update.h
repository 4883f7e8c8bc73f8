/* Updates of a model in flash: a file of `edgekit pack` or `edgekit diff` becomes an .edge file, as it arrives, in
 * pages. No allocation; nothing is written beyond the size that the update announces, nor beyond `capacity`. The new
 * file counts once ek_update_finish has returned EK_OK: its SHA-256, read back from flash, is right then. */
#ifndef EDGEKIT_UPDATE_H
#define EDGEKIT_UPDATE_H

#include "edgekit.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { EK_UPDATE_PAGE = 256, EK_UPDATE_INPUT = 128, EK_UPDATE_NUMBER = 40, EK_UPDATE_DIGEST = 32 };

/* Where files lie in memory that can be read. `write` programs `bytes` of `page`, at most EK_UPDATE_PAGE, at `offset`
 * of the new file, a multiple of it; it erases what must be erased first, and returns 0, or anything else for failure.
 * The old file is NULL for what `edgekit pack` made. Old and new do not overlap. */
typedef struct ek_update_flash {
    const uint8_t *old_file;
    uint32_t old_bytes;
    const uint8_t *new_file;
    uint32_t capacity;
    int (*write)(void *user, uint32_t offset, const uint8_t *page, uint32_t bytes);
    void *user;
} ek_update_flash;

/* Odds of the bits, in 4096ths: docs/updates.md. */
typedef struct ek_update_odds {
    uint16_t kind[3][2], zero[8], byte[2][256], length[3][EK_UPDATE_NUMBER], operand[2][EK_UPDATE_NUMBER];
} ek_update_odds;

/* An update under way, in the caller's memory: at most 2 KB where pointers have 4 bytes. Nothing in it is to be
 * touched. */
typedef struct ek_update {
    const ek_update_flash *flash;
    ek_status status;
    uint32_t new_bytes, pending, have, taken, range, code, at, left, kind, source, shift, zeros;
    ek_update_odds odds;
    uint8_t digest[EK_UPDATE_DIGEST], input[EK_UPDATE_INPUT], page[EK_UPDATE_PAGE];
} ek_update;

/* Begin. `flash` must outlive the update. EK_ERR_ARG. */
ek_status ek_update_init(ek_update *update, const ek_update_flash *flash);

/* Take the next `n` bytes, in pieces of any size. After an error all further calls return it: EK_ERR_VERSION for what
 * is no update, EK_ERR_ARG for an update of another old file, EK_ERR_MEMORY for a new file larger than `capacity`,
 * EK_ERR_CORRUPT, EK_ERR_DEVICE when `write` fails. */
ek_status ek_update_feed(ek_update *update, const uint8_t *bytes, size_t n);

/* EK_OK and the size of the new file, when all of it is in flash and has the SHA-256 announced. EK_ERR_CORRUPT for an
 * update that has not arrived whole, EK_ERR_CHECKSUM, or what ek_update_feed returned. */
ek_status ek_update_finish(ek_update *update, uint32_t *bytes);

#ifdef __cplusplus
}
#endif

#endif

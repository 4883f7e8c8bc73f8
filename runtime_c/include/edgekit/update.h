/* Updates of a model in flash. A file of `edgekit pack` or `edgekit diff` is decoded to an .edge file as it arrives,
 * and written page by page. No allocation; nothing is written beyond the size announced by the update, nor beyond
 * `capacity`. Use the new file only after ek_update_finish has returned EK_OK: its SHA-256, read back from flash, then
 * matches. */
#ifndef EDGEKIT_UPDATE_H
#define EDGEKIT_UPDATE_H

#include "edgekit.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { EK_UPDATE_PAGE = 256, EK_UPDATE_INPUT = 128, EK_UPDATE_NUMBER = 40, EK_UPDATE_DIGEST = 32 };

/* Memory-mapped flash with the old and the new file, which must not overlap. The old file is NULL for packs. `write`
 * programs `bytes` bytes of `page`, at most EK_UPDATE_PAGE, at `offset` of the new file, a multiple of EK_UPDATE_PAGE.
 * It erases the flash as needed, and returns 0 on success. */
typedef struct ek_update_flash {
    const uint8_t *old_file;
    uint32_t old_bytes;
    const uint8_t *new_file;
    uint32_t capacity;
    int (*write)(void *user, uint32_t offset, const uint8_t *page, uint32_t bytes);
    void *user;
} ek_update_flash;

/* Probabilities of the binary decisions, in 1/4096: docs/updates.md. */
typedef struct ek_update_odds {
    uint16_t kind[3][2], zero[8], byte[2][256], length[3][EK_UPDATE_NUMBER], operand[2][EK_UPDATE_NUMBER];
} ek_update_odds;

/* An update in progress, in the caller's memory: at most 2 KB with 32-bit pointers. All members are private. */
typedef struct ek_update {
    const ek_update_flash *flash;
    ek_status status;
    uint32_t new_bytes, pending, have, taken, range, code, at, left, kind, source, shift, zeros;
    ek_update_odds odds;
    uint8_t digest[EK_UPDATE_DIGEST], input[EK_UPDATE_INPUT], page[EK_UPDATE_PAGE];
} ek_update;

/* Start an update. `flash` must outlive it. EK_ERR_ARG. */
ek_status ek_update_init(ek_update *update, const ek_update_flash *flash);

/* Process the next `n` bytes; pieces may have any size. After an error all further calls return it: EK_ERR_VERSION if
 * the data is not an update, EK_ERR_ARG if it is for another old file, EK_ERR_MEMORY if the new file is larger than
 * `capacity`, EK_ERR_CORRUPT, EK_ERR_DEVICE if `write` fails. */
ek_status ek_update_feed(ek_update *update, const uint8_t *bytes, size_t n);

/* EK_OK, and the size of the new file in *bytes, if it is complete in flash and its SHA-256 matches. EK_ERR_CORRUPT if
 * the update is incomplete, EK_ERR_CHECKSUM, or the error of ek_update_feed. */
ek_status ek_update_finish(ek_update *update, uint32_t *bytes);

#ifdef __cplusplus
}
#endif

#endif

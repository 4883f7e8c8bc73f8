#ifndef EK_UPDATE_SHA256_H
#define EK_UPDATE_SHA256_H

#include <stdbool.h>
#include <stdint.h>

/* Whether the SHA-256 (FIPS 180-4) of `n` bytes is `digest`, of 32 bytes. */
bool ek_sha256_is(const uint8_t *bytes, uint32_t n, const uint8_t *digest);

#endif

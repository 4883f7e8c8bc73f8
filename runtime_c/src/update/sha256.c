#include "update/sha256.h"

enum { SHA_BLOCK = 64, SHA_WORDS = 16, SHA_STATE = 8, SHA_TAIL = 9 };

static const uint32_t sha_rounds[SHA_BLOCK] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static uint32_t rotated(uint32_t x, uint32_t n)
{
    return x >> n | x << (32 - n);
}

/* Word `i` of the message schedule, in a ring of 16. */
static uint32_t scheduled(uint32_t *w, uint32_t i)
{
    uint32_t *at = &w[i % SHA_WORDS];
    if (i >= SHA_WORDS) {
        const uint32_t a = w[(i + 1) % SHA_WORDS], b = w[(i + 14) % SHA_WORDS];
        *at += (rotated(a, 7) ^ rotated(a, 18) ^ a >> 3) + w[(i + 9) % SHA_WORDS] +
               (rotated(b, 17) ^ rotated(b, 19) ^ b >> 10);
    }
    return *at;
}

static void sha_block(uint32_t *state, uint32_t *w)
{
    uint32_t s[SHA_STATE];
    for (uint32_t i = 0; i < SHA_STATE; i++) s[i] = state[i];
    for (uint32_t i = 0; i < SHA_BLOCK; i++) {
        const uint32_t a = s[0], e = s[4];
        const uint32_t first = s[7] + (rotated(e, 6) ^ rotated(e, 11) ^ rotated(e, 25)) + ((e & s[5]) ^ (~e & s[6])) +
                               sha_rounds[i] + scheduled(w, i);
        const uint32_t second =
            (rotated(a, 2) ^ rotated(a, 13) ^ rotated(a, 22)) + ((a & s[1]) ^ (a & s[2]) ^ (s[1] & s[2]));
        for (uint32_t j = SHA_STATE - 1; j; j--) s[j] = s[j - 1];
        s[4] += first;
        s[0] = first + second;
    }
    for (uint32_t i = 0; i < SHA_STATE; i++) state[i] += s[i];
}

bool ek_sha256_is(const uint8_t *bytes, uint32_t n, const uint8_t *digest)
{
    uint32_t state[SHA_STATE] = { 0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                  0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19 };
    const uint32_t blocks = n / SHA_BLOCK + 1 + (n % SHA_BLOCK > SHA_BLOCK - SHA_TAIL);
    for (uint32_t block = 0; block < blocks; block++) {
        uint32_t w[SHA_WORDS] = { 0 };
        for (uint32_t i = 0; i < SHA_BLOCK; i++) {
            const uint32_t at = block * SHA_BLOCK + i;
            w[i / 4] = w[i / 4] << 8 | (at < n ? bytes[at] : at == n ? 128 : 0);
        }
        if (block == blocks - 1) {
            w[SHA_WORDS - 2] = n >> 29;
            w[SHA_WORDS - 1] = n << 3;
        }
        sha_block(state, w);
    }
    uint32_t differ = 0;
    for (uint32_t i = 0; i < 4 * SHA_STATE; i++) differ |= (state[i / 4] >> (24 - i % 4 * 8) & 255) ^ digest[i];
    return !differ;
}

/* Weights in a canonical Huffman code. Auxiliary: the first symbol, int8; how many follow one another from it, 1 to
 * 63; the bits, up to 8, of the escape, behind which a weight is 8 bits; those of each symbol, two a byte, the lower
 * first, 0 for none; the bytes of each block of `group` rows, uint16. Codes go by their length, then by symbol, the
 * escape last, the highest bit first. Any bits are weights, so that nothing but the code and the bytes is proved. */
#include "codec.h"
#include "ops/heavy_checks.h"

enum { HUFFMAN_HEAD = 3, HUFFMAN_BITS = 8, HUFFMAN_TABLE = 1 << HUFFMAN_BITS, HUFFMAN_SYMBOLS = 63, ESCAPE_FLAG = 128 };

/* Of symbol s of a header, or of the escape, which comes behind the last. */
static uint32_t huffman_length(const uint8_t *head, uint32_t s)
{
    return s == head[1] ? head[2] : (uint32_t)head[HUFFMAN_HEAD + s / 2] >> (s % 2 * 4) & 15;
}

static inline const uint8_t *huffman_blocks(const uint8_t *head)
{
    return head + HUFFMAN_HEAD + head[1] / 2 + head[1] % 2;
}

static inline uint32_t block_bytes(const uint8_t *blocks, size_t i)
{
    return blocks[2 * i] | (uint32_t)blocks[2 * i + 1] << 8;
}

/* Whether every byte begins with exactly one code. */
static bool is_complete(const uint8_t *head)
{
    uint32_t covered = 0;
    for (uint32_t s = 0; s <= head[1]; s++) {
        const uint32_t length = huffman_length(head, s);
        if (length > HUFFMAN_BITS) return false;
        covered += length ? (uint32_t)HUFFMAN_TABLE >> length : 0;
    }
    return covered == HUFFMAN_TABLE;
}

static bool huffman_check(const ek_node *node, uint32_t weights, const ek_fmt_codec *codec, const ek_coded_size *s)
{
    if (s->k > UINT32_MAX || s->rows > UINT32_MAX || ek_mul64(s->rows, s->count) >= UINT64_C(1) << 30) return false;
    if (!codec->group || codec->group % 4 || codec->auxiliary == EK_NO_BLOB) return false;
    if (!ek_check_blob(node, codec->auxiliary, HUFFMAN_HEAD, 1)) return false;
    const uint8_t *head = ek_blob(node, codec->auxiliary);
    if (!head[1] || head[1] > HUFFMAN_SYMBOLS) return false;
    const uint32_t rows = (uint32_t)s->rows, blocks = rows / codec->group + (rows % codec->group != 0);
    const uint64_t bytes = (uint64_t)(huffman_blocks(head) - head) + UINT64_C(2) * blocks;
    if (!ek_check_blob(node, codec->auxiliary, bytes, 1) || !is_complete(head)) return false;
    uint64_t total = 0;
    for (uint32_t i = 0; i < blocks; i++) total += block_bytes(huffman_blocks(head), i);
    return ek_check_blob(node, weights, total, 1);
}

/* What each byte begins with: the symbol in the upper half, then whether it is the escape, then the length. */
static void make_table(uint16_t *table, const uint8_t *head)
{
    uint32_t next[HUFFMAN_BITS + 2] = { 0 };
    for (uint32_t s = 0; s <= head[1]; s++) {
        const uint32_t length = huffman_length(head, s);
        if (length) next[length + 1] += (uint32_t)HUFFMAN_TABLE >> length;
    }
    for (uint32_t i = 1; i < HUFFMAN_BITS + 2; i++) next[i] += next[i - 1];
    for (uint32_t s = 0; s <= head[1]; s++) {
        const uint32_t length = huffman_length(head, s), symbol = (head[0] + s) & 255;
        const uint32_t entry = symbol << 8 | (s == head[1] ? ESCAPE_FLAG : 0) | length;
        if (!length) continue;
        for (uint32_t i = (uint32_t)HUFFMAN_TABLE >> length; i; i--) table[next[length]++] = (uint16_t)entry;
    }
}

/* Bits of a block, the next one highest; zeros behind its end. */
typedef struct ek_code_bits {
    const uint8_t *at, *end;
    uint32_t bits, have;
} ek_code_bits;

static void decode_run(int8_t *to, size_t many, ek_code_bits *from, const uint16_t *table)
{
    ek_code_bits b = *from;
    for (const int8_t *const last = to + many; to < last; to++) {
        for (; b.have < 16; b.have += 8) b.bits |= (uint32_t)(b.at < b.end ? *b.at++ : 0) << (24 - b.have);
        uint32_t entry = table[b.bits >> 24];
        const uint32_t length = entry & 15;
        b.bits <<= length;
        b.have -= length;
        if (entry & ESCAPE_FLAG) {
            entry = b.bits >> 16;
            b.bits <<= 8;
            b.have -= 8;
        }
        *to = (int8_t)(entry >> 8);
    }
    *from = b;
}

/* Rows [first, first + n) of `count`. */
static void decode_rows(int8_t *to, const ek_coded *w, size_t first, size_t n, size_t count)
{
    uint16_t table[HUFFMAN_TABLE];
    const uint8_t *blocks = huffman_blocks(w->auxiliary), *at = w->data;
    size_t block = 0, skip = first;
    make_table(table, w->auxiliary);
    for (; skip >= w->group; skip -= w->group) at += block_bytes(blocks, block++);
    for (size_t rows; n; n -= rows, skip = 0) {
        const uint8_t *end = at + block_bytes(blocks, block++);
        ek_code_bits bits = { .at = at, .end = end };
        for (size_t i = 0; i < skip; i++) decode_run(to, count, &bits, table);
        rows = w->group - skip < n ? w->group - skip : n;
        decode_run(to, rows * count, &bits, table);
        to += rows * count;
        at = end;
    }
}

static void huffman_unpack(int8_t *to, const ek_coded *w, size_t first, size_t n)
{
    decode_rows(to, w, first, n, w->k);
}

static void huffman_unpack_taps(int8_t *to, const ek_coded *w, size_t n)
{
    decode_rows(to, w, 0, w->k, n);
}

const ek_codec ek_codec_huffman = {
    .id = EK_WEIGHT_CODEC_HUFFMAN, .check = huffman_check, .unpack = huffman_unpack, .unpack_taps = huffman_unpack_taps
};

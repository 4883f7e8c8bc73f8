/* Weights in a canonical Huffman code. Auxiliary: the first symbol, int8; how many follow one another from it, 1 to
 * 63; the bits, up to 8, of the escape, behind which a weight is 8 bits; those of each symbol, two a byte, the lower
 * first, 0 for none; the bytes of each block of `group` channels, uint16. A block has its channels one after another;
 * of a depthwise convolution, its taps, each of all channels of the block. Codes go by their length, then by symbol,
 * the escape last, the highest bit first. Any bits are weights, so that nothing but the code and the bytes is proved.
 */
#include "codec.h"
#include "ops/heavy_checks.h"

enum {
    HUFFMAN_HEAD = 3,
    HUFFMAN_BITS = 8,
    HUFFMAN_TABLE = 1 << HUFFMAN_BITS,
    HUFFMAN_SYMBOLS = 63,
    ESCAPE_FLAG = 1 << 12
};
EK_STATIC_ASSERT((int)HUFFMAN_TABLE == (int)EK_CODED_TABLE, "EK_CODED_TABLE");

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
    if (s->k > UINT32_MAX || s->n > UINT32_MAX || ek_mul64(s->rows, s->count) >= UINT64_C(1) << 30) return false;
    if (!codec->group || codec->group % 4 || codec->auxiliary == EK_NO_BLOB) return false;
    if (!ek_check_blob(node, codec->auxiliary, HUFFMAN_HEAD, 1)) return false;
    const uint8_t *head = ek_blob(node, codec->auxiliary);
    if (!head[1] || head[1] > HUFFMAN_SYMBOLS) return false;
    const uint32_t n = (uint32_t)s->n, blocks = n / codec->group + (n % codec->group != 0);
    const uint64_t bytes = (uint64_t)(huffman_blocks(head) - head) + UINT64_C(2) * blocks;
    if (!ek_check_blob(node, codec->auxiliary, bytes, 1) || !is_complete(head)) return false;
    uint64_t total = 0;
    for (uint32_t i = 0; i < blocks; i++) total += block_bytes(huffman_blocks(head), i);
    return ek_check_blob(node, weights, total, 1);
}

/* What each byte begins with: the symbol in the lower half, above it the length, 16 more for the escape. */
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
        if (!length) continue;
        const uint16_t entry = (uint16_t)(symbol | length << 8 | (s == head[1] ? ESCAPE_FLAG : 0));
        uint16_t *at = table + next[length], *const end = at + ((uint32_t)HUFFMAN_TABLE >> length);
        next[length] += (uint32_t)HUFFMAN_TABLE >> length;
        while (at < end) *at++ = entry;
    }
}

/* The bits of a block, the first ones highest: `bit` of them are read. */
typedef struct ek_code_bits {
    const uint8_t *data;
    uint32_t bytes, bit;
} ek_code_bits;

/* Zeros are behind the end. */
static uint32_t bits_near_end(const ek_code_bits *from)
{
    uint32_t bits = 0;
    for (uint32_t i = from->bit / 8, end = i + 4; i < end; i++)
        bits = bits << 8 | (i < from->bytes ? from->data[i] : 0u);
    return bits << from->bit % 8;
}

/* One weight, which may be behind the escape. */
static int8_t decode_weight(ek_code_bits *from, const uint16_t *table)
{
    const uint32_t bits = bits_near_end(from), entry = table[bits >> 24], length = entry >> 8 & 15;
    from->bit += length;
    if (!(entry & ESCAPE_FLAG)) return (int8_t)(uint8_t)entry;
    from->bit += 8;
    return (int8_t)(uint8_t)((bits << length) >> 24);
}

/* Three weights of one load at a time: their codes are in 24 bits, and 25 are left of a word in which they begin at
 * any bit of the first byte. Those behind the escape, and the last ones of a block, go one by one. */
static void decode_run(int8_t *to, size_t many, ek_code_bits *from, const uint16_t *table)
{
    const uint8_t *const data = from->data;
    const uint32_t safe = from->bytes < 4 ? 0 : 8 * (from->bytes - 3); /* from this bit on, loads are not */
    uint32_t bit = from->bit;
    for (;;) {
        for (; many >= 3 && bit < safe; many -= 3, to += 3) {
            const uint8_t *const p = data + bit / 8;
            const uint32_t word = (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
            const uint32_t x = word << bit % 8, a = table[x >> 24], a_length = a >> 8;
            const uint32_t y = x << a_length, b = table[y >> 24], b_length = b >> 8;
            const uint32_t c = table[y << b_length >> 24];
            if ((a | b | c) & ESCAPE_FLAG) break;
            to[0] = (int8_t)(uint8_t)a;
            to[1] = (int8_t)(uint8_t)b;
            to[2] = (int8_t)(uint8_t)c;
            bit += a_length + b_length + (c >> 8);
        }
        from->bit = bit;
        if (!many) return;
        *to++ = decode_weight(from, table);
        many--;
        bit = from->bit;
    }
}

static ek_code_bits bits_of(const ek_coded *w)
{
    const ek_coded_next *next = &w->next;
    return (ek_code_bits){ next->at, block_bytes(huffman_blocks(w->auxiliary), next->block), next->bit };
}

static void to_next_block(ek_coded *w, uint32_t bytes)
{
    w->next = (ek_coded_next){ .at = w->next.at + bytes, .block = w->next.block + 1, .left = w->group };
}

static void start(ek_coded *w, size_t first, uint16_t *table)
{
    make_table(table, w->auxiliary);
    if (!first) w->next = (ek_coded_next){ .at = w->data, .left = w->group };
}

/* The next weights, `many`, with which `channels` end. */
static void decode_next(int8_t *to, ek_coded *w, const uint16_t *table, size_t many, size_t channels)
{
    ek_code_bits bits = bits_of(w);
    decode_run(to, many, &bits, table);
    w->next.bit = bits.bit;
    w->next.left -= (uint32_t)channels;
    if (!w->next.left) to_next_block(w, bits.bytes);
}

static void huffman_unpack(int8_t *to, ek_coded *w, size_t first, size_t n)
{
    uint16_t table[HUFFMAN_TABLE];
    start(w, first, table);
    for (size_t now; n; n -= now, to += now * w->k) {
        now = w->next.left < n ? w->next.left : n;
        decode_next(to, w, table, now * w->k, now);
    }
}

static void huffman_begin(ek_coded *w, uint16_t *table)
{
    start(w, 0, table);
}

static void huffman_read(int8_t *to, ek_coded *w, const uint16_t *table, size_t many, bool ends)
{
    decode_next(to, w, table, many, ends);
}

static void huffman_unpack_blocks(int8_t *to, ek_coded *w, size_t first, size_t n)
{
    uint16_t table[HUFFMAN_TABLE];
    start(w, first, table);
    for (size_t done = 0, now; done < n; done += now) {
        ek_code_bits bits = bits_of(w);
        now = w->group < n - done ? w->group : n - done;
        for (size_t t = 0; t < w->k; t++) decode_run(to + t * n + done, now, &bits, table);
        to_next_block(w, bits.bytes);
    }
}

static void huffman_unpack_taps(int8_t *to, ek_coded *w, size_t n)
{
    huffman_unpack_blocks(to, w, 0, n);
}

const ek_codec ek_codec_huffman = { .id = EK_WEIGHT_CODEC_HUFFMAN,
                                    .check = huffman_check,
                                    .unpack = huffman_unpack,
                                    .unpack_taps = huffman_unpack_taps,
                                    .unpack_blocks = huffman_unpack_blocks,
                                    .begin = huffman_begin,
                                    .read = huffman_read };

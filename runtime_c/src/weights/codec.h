/* Weights behind a codec: stored in fewer bits, int8 once they are decoded. Operators ask the codec for rows of
 * int8 and know nothing of how they are stored. A codec is one file, and a line in the build's list of them. */
#ifndef EK_CODEC_H
#define EK_CODEC_H

#include "op.h"

/* EK_NO_STREAMS: no codec is built in whose weights are read one after another. */
#ifndef EK_NO_STREAMS
/* Where the last reading of them ended. */
typedef struct ek_coded_next {
    const uint8_t *at;         /* the block */
    uint32_t block, bit, left; /* left: channels of the block */
    uint32_t channel;          /* for operators */
} ek_coded_next;

/* Bytes of it in scratch, on every target, so that plans agree. */
enum { EK_CODED_NEXT = 32 };
EK_STATIC_ASSERT(sizeof(ek_coded_next) <= EK_CODED_NEXT, "EK_CODED_NEXT");

/* Scratch for a block of weights, decoded and packed, so that all is at most 2 KB; more only for the least channels of
 * a block. */
enum { EK_BLOCK_ROOM = 2048 - EK_CODED_NEXT };

/* See ek_gemm_packs_in_place. */
enum { EK_PACK_AHEAD = 64 };

/* Entries of uint16 that `begin` makes of a code, and weights that `read` gives at most in what operators ask for. */
enum { EK_CODED_TABLE = 256, EK_CODED_PART = 256 };
#endif

/* The stored weights of n channels, k each. */
typedef struct ek_coded {
    const struct ek_codec *codec;
    const uint8_t *data, *auxiliary; /* auxiliary: NULL where the codec needs none */
    uint32_t group, k;
#ifndef EK_NO_STREAMS
    ek_coded_next next;
#endif
} ek_coded;

/* Sizes of weights: `rows` of `count` in the order that the file has them, and n channels of k. */
typedef struct ek_coded_size {
    uint64_t rows, count, n, k;
} ek_coded_size;

typedef struct ek_codec {
    uint32_t id; /* in files */

    /* The stored bytes are in the blob, and whatever they say every weight is an int8. On hostile numbers. */
    bool (*check)(const ek_node *node, uint32_t weights, const ek_fmt_codec *codec, const ek_coded_size *size);
    /* Channels [first, first + n) as int8 [n][k]; the rows of the file are channels. With `next`, first is 0 or where
     * the last call ended. */
    void (*unpack)(int8_t *to, ek_coded *w, size_t first, size_t n);
    /* All weights as int8 [k][n]; the rows of the file are taps of n channels. */
    void (*unpack_taps)(int8_t *to, ek_coded *w, size_t n);

    /* One row of gemm_s8 or gemm_s16 with weights as they are stored; NULL: only unpacked. */
    void (*row_s8)(const ek_kernels *kernels, int8_t *out, const int8_t *a, const ek_coded *w, const ek_requant *r,
                   uint32_t n);
    void (*row_s16)(const ek_kernels *kernels, int16_t *out, const int16_t *a, const ek_coded *w, const ek_requant16 *r,
                    uint32_t n);
    /* NULL, or whether these kernels decode and pack for gemm_s8 at once, and that. */
    bool (*packs_s8)(const ek_kernels *kernels);
    void (*pack_s8)(const ek_kernels *kernels, void *packed, const ek_coded *w, size_t first, const int32_t *bias,
                    uint32_t n);
#ifndef EK_NO_STREAMS
    /* NULL, or unpack_taps of channels [first, first + n), as for unpack; whole blocks of `group` but for the last. */
    void (*unpack_blocks)(int8_t *to, ek_coded *w, size_t first, size_t n);
    /* NULL, or channels in parts: `begin` goes to the first weight, `read` gives `many` of one channel; the last part
     * of it `ends` it. */
    void (*begin)(ek_coded *w, uint16_t *table);
    void (*read)(int8_t *to, ek_coded *w, const uint16_t *table, size_t many, bool ends);
#endif
} ek_codec;

/* NULL when the build lacks it. */
const ek_codec *ek_codec_of(const ek_node *node, uint32_t id);

/* The weights at blob offset `weights` of a checked operator, k of each channel. */
static inline ek_coded ek_coded_of(const ek_node *node, uint32_t weights, const ek_fmt_codec *codec, uint32_t k)
{
    return (ek_coded){ .codec = ek_codec_of(node, codec->id),
                       .data = ek_blob(node, weights),
                       .auxiliary = codec->auxiliary == EK_NO_BLOB ? NULL : ek_blob(node, codec->auxiliary),
                       .group = codec->group,
                       .k = k };
}

#endif

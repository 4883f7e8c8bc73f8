/* Rows times weights. Built for s8, s16 and f32. */
#include "element.h"

#include EK_TYPED_HEADER(gemm)
#include "weights/coded.h"
#ifdef EK_CODED
#include "weights/blocks.h"
#endif

static ek_status fully_connected_check(const ek_node *node)
{
    const ek_fmt_fully_connected *p = node->params;
    if (!p->rows || !p->k || !p->n || !ek_check_in(node, 0, EK_ELEMENT_DTYPE, (uint64_t)p->rows * p->k) ||
        !ek_check_out(node, 0, EK_ELEMENT_DTYPE, (uint64_t)p->rows * p->n))
        return EK_ERR_CORRUPT;
    const ek_status tail = EK_CHECK_TAIL(node, p, p->n, p->n);
    if (tail) return tail;
    const ek_coded_size size = { p->n, p->k, p->n, p->k };
    return ek_check_weights(node, p->weights, &p->codec, &size, sizeof(ek_weight));
}

static inline ek_table fully_connected_table(const ek_node *node)
{
    const ek_fmt_fully_connected *p = node->params;
    return EK_TABLE(p, p->n, p->n);
}

static size_t fully_connected_packed_plain(const ek_node *node)
{
    const ek_fmt_fully_connected *p = node->params;
    return ek_gemm_packed(node->kernels, p->n, p->k);
}

static uint64_t fully_connected_packed_bytes(const ek_node *node)
{
#ifdef EK_CODED
    const ek_fmt_fully_connected *p = node->params;
    if (ek_is_coded(&p->codec))
        return ek_coded_kept(node, fully_connected_packed_plain(node), ek_align16((uint64_t)p->n * p->k));
#endif
    return fully_connected_packed_plain(node);
}

static inline ek_gemm fully_connected_product(const ek_node *node)
{
    const ek_fmt_fully_connected *p = node->params;
    return (ek_gemm){ .weights = node->packed ? node->packed : ek_blob(node, p->weights),
                      EK_TAIL(node, p, p->n, p->n),
                      .n = p->n,
                      .k = p->k };
}

static void fully_connected_multiply(const ek_node *node, size_t first, const ek_gemm *gemm)
{
    const ek_fmt_fully_connected *p = node->params;
    ek_element *out = ek_out(node, 0);
    ek_gemm_run(node->kernels, out + first, p->n, ek_in(node, 0), p->k, p->rows, gemm);
}

#ifdef EK_CODED
/* That are multiplied with weights as they are stored; more of them with weights that were decoded. */
enum { MOST_ROWS = 3 };

static bool by_rows(const ek_fmt_fully_connected *p, const ek_codec *codec)
{
    return codec && ek_gemm_has_row(codec) && p->rows <= MOST_ROWS;
}

#ifndef EK_NO_STREAMS
/* Whether the row is multiplied with parts of channels: they need less room than packed blocks, and packing takes
 * longer than one row gains by it. */
static bool by_parts(const ek_fmt_fully_connected *p, const ek_codec *codec)
{
    return codec && codec->read && p->rows == 1;
}
#endif

static uint64_t fully_connected_scratch(const ek_node *node)
{
    const ek_fmt_fully_connected *p = node->params;
    if (!ek_is_coded(&p->codec)) return 0;
    const ek_codec *codec = ek_codec_of(node, p->codec.id);
#ifndef EK_NO_STREAMS
    if (by_parts(p, codec)) return EK_CODED_TABLE * sizeof(uint16_t) + EK_CODED_PART;
#endif
    return by_rows(p, codec) ? 0 : EK_TYPED(ek_block_scratch)(node->kernels, codec, p->k, EK_BLOCK_CHANNELS);
}

static ek_coded fully_connected_weights_of(const ek_node *node)
{
    const ek_fmt_fully_connected *p = node->params;
    return ek_coded_of(node, p->weights, &p->codec, p->k);
}

/* To decode them before they are packed. */
static inline uint64_t fully_connected_pack_room(const ek_node *node)
{
    const ek_fmt_fully_connected *p = node->params;
    const bool decodes = ek_is_coded(&p->codec) && ek_gemm_wants_packed(node->kernels);
    return decodes ? ek_align16((uint64_t)p->n * p->k) : 0;
}

static inline void fully_connected_pack(const ek_node *node, void *packed)
{
    const ek_fmt_fully_connected *p = node->params;
    ek_gemm gemm = fully_connected_product(node);
    if (ek_is_coded(&p->codec)) {
        ek_coded w = fully_connected_weights_of(node);
        int8_t *plain = (int8_t *)packed + fully_connected_packed_plain(node);
        w.codec->unpack(plain, &w, 0, gemm.n);
        gemm.weights = plain;
        if (!ek_gemm_wants_packed(node->kernels)) return;
    }
    ek_gemm_pack(node->kernels, packed, &gemm);
}

static void run_rows(const ek_node *node, const ek_gemm *gemm)
{
    const ek_fmt_fully_connected *p = node->params;
    ek_coded w = fully_connected_weights_of(node);
    const ek_element *a = ek_in(node, 0);
    ek_element *out = ek_out(node, 0);
    for (uint32_t row = 0; row < p->rows; row++, a += p->k, out += p->n) ek_gemm_row(node->kernels, out, a, &w, gemm);
}

#ifndef EK_NO_STREAMS
/* Of at most EK_CODED_PART weights. */
static int32_t part_sum(const int8_t *w, const ek_element *a, uint32_t many)
{
    int32_t sum = 0;
    for (; many >= 4; many -= 4, w += 4, a += 4)
        sum += (int32_t)w[0] * a[0] + (int32_t)w[1] * a[1] + (int32_t)w[2] * a[2] + (int32_t)w[3] * a[3];
    while (many--) sum += (int32_t)*w++ * *a++;
    return sum;
}

static void run_parts(const ek_node *node, const ek_gemm *gemm)
{
    ek_coded w = fully_connected_weights_of(node);
    uint16_t *table = node->scratch;
    int8_t *part = (int8_t *)(table + EK_CODED_TABLE);
    const ek_element *a = ek_in(node, 0);
    ek_element *out = ek_out(node, 0);
    w.codec->begin(&w, table);
    for (uint32_t j = 0; j < gemm->n; j++) {
        ek_gemm_sum sum = 0;
        for (uint32_t i = 0, many; i < gemm->k; i += many) {
            many = gemm->k - i < EK_CODED_PART ? gemm->k - i : EK_CODED_PART;
            w.codec->read(part, &w, table, many, i + many == gemm->k);
            sum += (ek_gemm_sum)part_sum(part, a + i, many);
        }
        out[j] = ek_gemm_output(gemm, j, sum);
    }
}
#endif

static void fully_connected_run_blocks(const ek_node *node, ek_gemm *gemm)
{
    const ek_fmt_fully_connected *p = node->params;
    ek_coded w = fully_connected_weights_of(node);
    const uint32_t block = EK_TYPED(ek_block)(node->kernels, w.codec, p->k, EK_BLOCK_CHANNELS);
    for (uint32_t first = 0; first < p->n; first += gemm->n) {
        gemm->n = p->n - first < block ? p->n - first : block;
        EK_TYPED(ek_block_load)(gemm, node->kernels, &w, first, block, node->scratch);
        fully_connected_multiply(node, first, gemm);
        ek_gemm_skip(gemm, gemm->n);
    }
}
#else
static inline void fully_connected_pack_plain(const ek_node *node, void *packed)
{
    const ek_gemm gemm = fully_connected_product(node);
    ek_gemm_pack(node->kernels, packed, &gemm);
}
#endif

static ek_status fully_connected_run(const ek_node *node)
{
    ek_gemm gemm = fully_connected_product(node);
#ifdef EK_CODED
    const ek_fmt_fully_connected *p = node->params;
    if (ek_is_coded(&p->codec) && !node->packed) {
        const ek_codec *codec = ek_codec_of(node, p->codec.id);
#ifndef EK_NO_STREAMS
        if (by_parts(p, codec)) {
            run_parts(node, &gemm);
            return EK_OK;
        }
#endif
        if (by_rows(p, codec))
            run_rows(node, &gemm);
        else
            fully_connected_run_blocks(node, &gemm);
        return EK_OK;
    }
#endif
    fully_connected_multiply(node, 0, &gemm);
    return EK_OK;
}

const ek_op EK_CODED_OP(fully_connected) = {
    .inputs_min = 1,
    .inputs_max = 1,
    .outputs = 1,
    .check = fully_connected_check,
    .packed_bytes = fully_connected_packed_bytes,
#ifdef EK_CODED
    .scratch = fully_connected_scratch,
    EK_OP_PACK_IN(fully_connected_pack_room, fully_connected_pack),
#else
    .pack = EK_OP_PACK(fully_connected_pack_plain),
#endif
    EK_OP_CONSTANTS(ek_fmt_fully_connected, fully_connected_table),
    .run = fully_connected_run,
};

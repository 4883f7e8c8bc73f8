/* As element_s8.h: its matrix product. */
#ifndef EK_GEMM_S8_H
#define EK_GEMM_S8_H

#include "element_s8.h"
#include "fixed_point.h"
#include "weights/codec.h"

/* Tables may take rows of a in parts: conv_lines.h. */
#define EK_GEMM_IN_PARTS

typedef ek_gemm_s8 ek_gemm;

/* A transposed convolution has biases for each phase of its stride: zero points are folded in. */
enum { EK_BIAS_PER_PHASE = 1 };

static inline size_t ek_gemm_rows(const ek_kernels *kernels)
{
    return kernels->gemm_s8_rows;
}

static inline bool ek_gemm_wants_packed(const ek_kernels *kernels)
{
    return kernels->packed_gemm_s8;
}

/* If so, whether they have the packer here. */
static inline bool ek_gemm_can_pack(const ek_kernels *kernels)
{
    return kernels->pack_gemm_s8;
}

/* Bytes of packed weights; 0 where these kernels pack none. */
static inline size_t ek_gemm_packed(const ek_kernels *kernels, uint32_t n, uint32_t k)
{
    return ek_packed_bytes(kernels->packed_gemm_s8, n, k);
}

static inline void ek_gemm_pack(const ek_kernels *kernels, void *packed, const ek_gemm *g)
{
    kernels->pack_gemm_s8(packed, g->weights, g->requant.bias, g->n, g->k);
}

#ifndef EK_NO_STREAMS
/* Whether packing may write over weights that it has read, if they begin so far behind what it writes: 3 * k +
 * EK_PACK_AHEAD bytes, less what n * k is short of the packed ones. */
static inline bool ek_gemm_packs_in_place(const ek_kernels *kernels)
{
    return kernels->gemm_w4_block;
}
#endif

static inline void ek_gemm_run(const ek_kernels *kernels, ek_element *out, size_t out_step, const void *a,
                               size_t a_step, size_t rows, const ek_gemm *g)
{
    kernels->gemm_s8(out, out_step, a, a_step, rows, g);
}

static inline void ek_gemm_skip_biases(ek_gemm *g, size_t biases)
{
    g->requant.bias += biases;
}

/* Goes to what belongs to later channels, but for the weights. */
static inline void ek_gemm_skip(ek_gemm *g, size_t channels)
{
    g->requant.bias += channels;
    g->requant.multiplier += channels;
    g->requant.shift += channels;
}

/* Whether these kernels decode and pack weights behind a codec at once; and that, for the channels from `first` on. */
static inline bool ek_gemm_decodes(const ek_kernels *kernels, const ek_codec *codec)
{
    return codec->packs_s8 && codec->packs_s8(kernels);
}

static inline void ek_gemm_decode(const ek_kernels *kernels, void *packed, const ek_coded *w, size_t first,
                                  const ek_gemm *g)
{
    w->codec->pack_s8(kernels, packed, w, first, g->requant.bias, g->n);
}

/* Whether rows can be multiplied with weights as the codec stores them; and that. */
static inline bool ek_gemm_has_row(const ek_codec *codec)
{
    return codec->row_s8;
}

static inline void ek_gemm_row(const ek_kernels *kernels, ek_element *out, const ek_element *a, const ek_coded *w,
                               const ek_gemm *g)
{
    w->codec->row_s8(kernels, out, a, w, &g->requant, g->n);
}

/* Of products, wherever it wraps; and the output of a channel that it makes. */
typedef uint32_t ek_gemm_sum;

static inline ek_element ek_gemm_output(const ek_gemm *g, size_t j, ek_gemm_sum sum)
{
    const ek_requant *r = &g->requant;
    const int32_t acc = (int32_t)((uint32_t)r->bias[j] + sum);
    return ek_requantize(acc, r->multiplier[j], r->shift[j], r->zero_point, r->qmin, r->qmax);
}

/* The outputs of an empty sum. */
static inline void ek_gemm_empty(ek_element *out, const ek_gemm *g)
{
    for (size_t j = 0; j < g->n; j++) out[j] = ek_gemm_output(g, j, 0);
}

#endif

/* As element_s16.h: its matrix product. */
#ifndef EK_GEMM_S16_H
#define EK_GEMM_S16_H

#include "element_s16.h"
#include "fixed_point.h"
#include "weights/codec.h"

typedef ek_gemm_s16 ek_gemm;

enum { EK_BIAS_PER_PHASE = 0 }; /* no zero point is folded in */

static inline size_t ek_gemm_rows(const ek_kernels *kernels)
{
    return kernels->gemm_s16_rows;
}

static inline bool ek_gemm_wants_packed(const ek_kernels *kernels)
{
    return kernels->packed_gemm_s16;
}

/* If so, whether they have the packer here. */
static inline bool ek_gemm_can_pack(const ek_kernels *kernels)
{
    return kernels->pack_gemm_s16;
}

/* Bytes of packed weights; 0 where these kernels pack none. */
static inline size_t ek_gemm_packed(const ek_kernels *kernels, uint32_t n, uint32_t k)
{
    return ek_packed_bytes(kernels->packed_gemm_s16, n, k);
}

static inline void ek_gemm_pack(const ek_kernels *kernels, void *packed, const ek_gemm *g)
{
    kernels->pack_gemm_s16(packed, g->weights, g->requant.bias, g->n, g->k);
}

#ifndef EK_NO_STREAMS
/* Whether packing may write over weights that it has read, if they begin so far behind what it writes: 3 * k +
 * EK_PACK_AHEAD bytes, less what n * k is short of the packed ones. */
static inline bool ek_gemm_packs_in_place(const ek_kernels *kernels)
{
    (void)kernels;
    return false;
}
#endif

static inline void ek_gemm_run(const ek_kernels *kernels, ek_element *out, size_t out_step, const void *a,
                               size_t a_step, size_t rows, const ek_gemm *g)
{
    kernels->gemm_s16(out, out_step, a, a_step, rows, g);
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

/* Whether these kernels decode and pack weights behind a codec at once: none does. */
static inline bool ek_gemm_decodes(const ek_kernels *kernels, const ek_codec *codec)
{
    (void)kernels, (void)codec;
    return false;
}

static inline void ek_gemm_decode(const ek_kernels *kernels, void *packed, const ek_coded *w, size_t first,
                                  const ek_gemm *g)
{
    (void)kernels, (void)packed, (void)w, (void)first, (void)g;
}

/* Whether rows can be multiplied with weights as the codec stores them; and that. */
static inline bool ek_gemm_has_row(const ek_codec *codec)
{
    return codec->row_s16;
}

static inline void ek_gemm_row(const ek_kernels *kernels, ek_element *out, const ek_element *a, const ek_coded *w,
                               const ek_gemm *g)
{
    w->codec->row_s16(kernels, out, a, w, &g->requant, g->n);
}

/* Of products, and the output of a channel that it makes. */
typedef int64_t ek_gemm_sum;

static inline ek_element ek_gemm_output(const ek_gemm *g, size_t j, ek_gemm_sum sum)
{
    const ek_requant16 *r = &g->requant;
    return ek_requantize16(r->bias[j] + sum, r->multiplier[j], r->shift[j], r->qmin, r->qmax);
}

/* The outputs of an empty sum. */
static inline void ek_gemm_empty(ek_element *out, const ek_gemm *g)
{
    for (size_t j = 0; j < g->n; j++) out[j] = ek_gemm_output(g, j, 0);
}

#endif

/* How depthwise kernels cover a line of the output with vectors of 128 bytes, for files that define ELEMENT, OUTPUT,
 * the type of what narrows their results, and, after this,
 *     static HVX_Vector tile(const job *j, size_t at, size_t bytes, const mode m)
 * which computes a line whose first tap is `at` bytes behind taps[0]. All sizes and steps are in bytes.
 */
#include "depthwise.h"

typedef enum mode {
    EXACT, /* 128 bytes that all exist */
    SOME,  /* the first `bytes` */
    EVEN   /* every other pixel of 256 bytes, of which `bytes` exist */
} mode;

typedef struct job {
    const ELEMENT *const *taps;
    uint32_t tap_count;
    size_t pixel;      /* all channels */
    const char *block; /* packed */
    OUTPUT output;
} job;

static HVX_Vector tile(const job *j, size_t at, size_t bytes, const mode m);

EK_INLINE HVX_Vector load_tile(const ELEMENT *tap, size_t at, size_t bytes, size_t pixel, const mode m)
{
    const char *const x = (const char *)tap + at;
    if (m == EXACT) return ek_load(x);
    if (m == SOME) return ek_load_some(x, bytes);
    const HVX_Vector low = bytes < EK_LINE ? ek_load_some(x, bytes) : ek_load(x);
    const HVX_Vector high = bytes > EK_LINE ? ek_load_some(x + EK_LINE, bytes - EK_LINE) : low;
    return Q6_V_lo_W(Q6_W_vdeal_VVR(high, low, -(int32_t)pixel));
}

/* Channels of `count` bytes from `first` on, pixel after pixel. */
EK_INLINE void run_pixels(const job *j, char *out, size_t out_step, size_t in_step, size_t pixels, size_t first,
                          size_t count)
{
    for (size_t p = 0; p < pixels; p++) {
        if (count == EK_LINE)
            ek_store(out + p * out_step + first, tile(j, p * in_step + first, EK_LINE, EXACT));
        else
            ek_store_some(out + p * out_step + first, tile(j, p * in_step + first, count, SOME), count);
    }
}

/* Pixels and channels are one run of bytes, in the input as in the output. What a whole line holds
 * beyond its last whole pixel is written over by the next one. */
EK_INLINE void run_dense(const job *j, char *out, size_t bytes)
{
    const size_t each = ek_depthwise_pixels(j->pixel) * j->pixel;
    size_t at = 0;
    for (; at + EK_LINE <= bytes; at += each) ek_store(out + at, tile(j, at, EK_LINE, EXACT));
    for (; at < bytes; at += each) {
        const size_t here = bytes - at < each ? bytes - at : each;
        ek_store_some(out + at, tile(j, at, here, SOME), here);
    }
}

/* The same on all pixels of the input, of which every `stride`th is wanted. */
EK_INLINE void run_skip(const job *j, char *out, size_t pixels, size_t stride)
{
    const size_t pixel = j->pixel, all = ((pixels - 1) * stride + 1) * pixel;
    const size_t each = (ek_depthwise_pixels(pixel) + stride - 1) / stride;
    for (size_t done = 0; done < pixels; done += each, out += each * pixel) {
        const size_t at = done * stride * pixel, now = pixels - done < each ? pixels - done : each;
        HVX_Vector line = all - at >= EK_LINE ? tile(j, at, EK_LINE, EXACT) : tile(j, at, all - at, SOME);
        HVX_Vector wanted = line;
        for (size_t i = 1; i < now; i++) {
            line = Q6_V_vror_VR(line, (int32_t)((stride - 1) * pixel));
            wanted = Q6_V_vmux_QVV(Q6_Q_vsetq_R((int32_t)(i * pixel)), wanted, line);
        }
        ek_store_some(out, wanted, now * pixel);
    }
}

/* Every other pixel of the input, of a power of two of bytes, is left out on loading. */
EK_INLINE void run_even(const job *j, char *out, size_t bytes)
{
    for (size_t at = 0; at < bytes; at += EK_LINE) {
        const size_t here = bytes - at < EK_LINE ? bytes - at : EK_LINE;
        ek_store_some(out + at, tile(j, 2 * at, 2 * here - j->pixel, EVEN), here);
    }
}

/* All blocks, `block_bytes` apart. */
EK_INLINE void run_blocks(job *j, char *out, size_t out_step, size_t in_step, size_t pixels, size_t block_bytes)
{
    const size_t pixel = j->pixel;
    const bool close = pixel <= EK_LINE / 2 && out_step == pixel;
    for (size_t first = 0; first < pixel; first += EK_LINE, j->block += block_bytes) {
        if (close && in_step == pixel)
            run_dense(j, out, pixels * pixel);
        else if (close && in_step == 2 * pixel && (pixel & (pixel - 1)) == 0)
            run_even(j, out, pixels * pixel);
        else if (out_step == pixel && (in_step == 2 * pixel || in_step == 3 * pixel) && in_step <= EK_LINE / 2)
            run_skip(j, out, pixels, in_step / pixel);
        else
            run_pixels(j, out, out_step, in_step, pixels, first, pixel - first < EK_LINE ? pixel - first : EK_LINE);
    }
}

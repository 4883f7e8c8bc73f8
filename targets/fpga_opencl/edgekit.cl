/* The accelerator: int8 convolution, depthwise, fully connected, add and pooling as one chain of
 * single work-item kernels.
 *
 *   read -> window -> mac -> requant -> pool -> write
 *             weights -^        ^- weights
 *
 * Every layer runs through the whole chain; stages it does not need pass on what they get. One
 * program serves any model: shapes and quantization are arguments. docs/deploy-fpga.md says what
 * each stage holds, and what the macros below cost.
 *
 * With EK_CHANNELS the stages run at the same time, linked by channels (cl_intel_channels).
 * Without, they run one after another, and a link is a buffer in global memory.
 *
 * OpenCL C 1.2. Everything in a loop body marked `unroll` happens in one cycle on an FPGA.
 */
#ifdef EK_CONFIG
#include "edgekit_config.h"
#endif
#ifndef EK_VEC
#define EK_VEC 8 /* products that a lane adds up in a cycle */
#endif
#ifndef EK_LANES
#define EK_LANES 8 /* output channels at a time */
#endif
#ifndef EK_LINE_WORDS
#define EK_LINE_WORDS 4096 /* of EK_WORD bytes: lines of the input on chip */
#endif
#ifndef EK_WEIGHT_WORDS
#define EK_WEIGHT_WORDS 512 /* of EK_VEC * EK_LANES bytes: weights of EK_LANES channels on chip */
#endif
#ifndef EK_POOL_WORDS
#define EK_POOL_WORDS 2048 /* of EK_LANES bytes: lines of a pooling layer on chip */
#endif
#ifndef EK_TAPS
#define EK_TAPS 16 /* of a depthwise kernel in the shift register; a multiple of EK_VEC */
#endif
#ifndef EK_DEPTH
#define EK_DEPTH 64 /* of a channel */
#endif

#if EK_VEC & (EK_VEC - 1) || EK_LANES & (EK_LANES - 1) || EK_TAPS % EK_VEC
#error "EK_VEC and EK_LANES are powers of two, EK_TAPS is a multiple of EK_VEC"
#endif
#if EK_VEC > EK_LANES
#define EK_WORD EK_VEC
#else
#define EK_WORD EK_LANES
#endif

typedef struct { char d[EK_WORD]; } ek_word;
typedef struct { char w[EK_LANES][EK_VEC]; } ek_weight;
typedef struct { int bias[EK_LANES], multiplier[EK_LANES], shift[EK_LANES]; } ek_quant;
typedef struct { int v[EK_LANES]; } ek_sum;
typedef struct { char v[EK_LANES]; } ek_pixel;

#ifdef EK_CHANNELS
#pragma OPENCL EXTENSION cl_intel_channels : enable
channel ek_word ek_words __attribute__((depth(EK_DEPTH)));
channel ek_word ek_taps __attribute__((depth(EK_DEPTH)));
channel ek_weight ek_weight_words __attribute__((depth(EK_DEPTH)));
channel ek_quant ek_quants __attribute__((depth(EK_DEPTH)));
channel ek_sum ek_sums __attribute__((depth(EK_DEPTH)));
channel ek_pixel ek_pixels __attribute__((depth(EK_DEPTH)));
channel ek_pixel ek_pooled __attribute__((depth(EK_DEPTH)));
#define EK_IN(type, link)
#define EK_OUT(type, link)
#define EK_RECEIVE(link, i) read_channel_intel(link)
#define EK_SEND(link, i, x) write_channel_intel(link, x)
#else
#define EK_IN(type, link) __global const type *restrict link,
#define EK_OUT(type, link) __global type *restrict link,
#define EK_RECEIVE(link, i) link[i]
#define EK_SEND(link, i, x) link[i] = (x)
#endif

#define EK_TASK __attribute__((reqd_work_group_size(1, 1, 1)))

enum { EK_MAC_PASS, EK_MAC_ADD, EK_MAC_CONV, EK_MAC_DEPTHWISE };
enum { EK_REQUANT_PASS, EK_REQUANT_SHIFT, EK_REQUANT_SCALE };
enum { EK_POOL_PASS, EK_POOL_MAX, EK_POOL_MEAN };

/* What this program was built with. */
__kernel EK_TASK void ek_info(__global int *restrict config)
{
    config[0] = EK_VEC;
    config[1] = EK_LANES;
    config[2] = EK_LINE_WORDS;
    config[3] = EK_WEIGHT_WORDS;
    config[4] = EK_POOL_WORDS;
    config[5] = EK_TAPS;
#ifdef EK_CHANNELS
    config[6] = 1;
#else
    config[6] = 0;
#endif
    config[7] = 1; /* version of the kernels' arguments */
}

/* docs/arithmetic.md, with the 64-bit product. */
static int ek_scale(int acc, int multiplier, int shift)
{
    const int left = shift > 0 ? shift : 0, right = shift < 0 ? -shift : 0;
    const int a = (int)((uint)acc << left);
    const int h = (int)(((long)a * multiplier + (1L << 30)) >> 31);
    return right ? (int)((uint)h + (1u << (right - 1))) >> right : h;
}

static char ek_clamp(int q, int qmin, int qmax)
{
    return (char)(q < qmin ? qmin : q > qmax ? qmax : q);
}

/* Words of global memory in four nested strides. A word may reach past its row: the bytes there
 * meet zero weights, or lanes that are not written. */
__kernel EK_TASK void ek_read(EK_OUT(ek_word, ek_words) __global const char *restrict arena, uint at, uint tile_first,
                              uint tile_end, uint tile_step, uint images, uint image_step, uint rows, uint row_step,
                              uint parts, uint part_step)
{
    uint sent = 0;
    for (uint tile = tile_first; tile < tile_end; tile++)
        for (uint image = 0; image < images; image++)
            for (uint row = 0; row < rows; row++)
                for (uint part = 0; part < parts; part++) {
                    const uint from = at + tile * tile_step + image * image_step + row * row_step + part * part_step;
                    ek_word x;
#pragma unroll
                    for (int b = 0; b < EK_WORD; b++) x.d[b] = arena[from + b];
                    EK_SEND(ek_words, sent, x);
                    sent++;
                }
}

/* Lines of the input are kept on chip, in a ring of `slots`; row r is in slot (r - top) % slots.
 * While the taps of one output row leave, the rows that the next one needs come in. Taps outside
 * the image read as `fill`. Per tap and part, EK_WORD bytes from any position: the ring has a bank
 * per byte, each bank gives one byte, and a rotation puts them in order. */
__kernel EK_TASK void ek_window(EK_IN(ek_word, ek_words) EK_OUT(ek_word, ek_taps) uint pass, uint tile_first,
                                uint tile_end, uint group_tiles, int group_step, uint images, int in_h, int row_first,
                                int row_end, int top, uint out_rows, int stride_h, int dilation_h, uint kernel_h,
                                int line_bytes, int line_words, int slots, uint columns, int column_start,
                                int column_step, uint segments, int segment_step, uint parts, int fill)
{
    char lines[EK_LINE_WORDS][EK_WORD];
    uint received = 0, sent = 0;
    for (uint i = 0; i < pass; i++) EK_SEND(ek_taps, i, EK_RECEIVE(ek_words, i));
    if (pass) return;
    for (uint tile = tile_first; tile < tile_end; tile++) {
        const int start = column_start + (int)(tile / group_tiles) * group_step;
        for (uint image = 0; image < images; image++) {
            int loaded = row_first, load_slot = (row_first - top) % slots, load_word = 0;
            int row_top = top, top_slot = 0;
            for (uint phase = 0; phase <= out_rows; phase++) {
                int need = top + (int)phase * stride_h + (int)(kernel_h - 1) * dilation_h + 1;
                need = phase == out_rows || need > row_end ? row_end : need;
                const uint loads = need > loaded ? (uint)((need - loaded) * line_words) : 0;
                const uint emits = phase ? columns * kernel_h * segments * parts : 0;
                uint ky = 0, segment = 0, part = 0;
                int column = start, slot = top_slot, row = row_top;
#pragma ivdep
                for (uint i = 0; i < loads || i < emits; i++) {
                    if (i < emits) {
                        const int from = column + (int)segment * segment_step + (int)part * EK_VEC;
                        const bool inside = row >= 0 && row < in_h;
                        char bank[EK_WORD];
                        ek_word x;
#pragma unroll
                        for (int b = 0; b < EK_WORD; b++) {
                            const int at = from + ((b - from) & (EK_WORD - 1));
                            const bool there = inside && at >= 0 && at < line_bytes;
                            bank[b] = there ? lines[slot * line_words + at / EK_WORD][b] : (char)fill;
                        }
#pragma unroll
                        for (int b = 0; b < EK_WORD; b++) x.d[b] = bank[(from + b) & (EK_WORD - 1)];
                        EK_SEND(ek_taps, sent, x);
                        sent++;
                        if (++part == parts) {
                            part = 0;
                            if (++segment == segments) {
                                segment = 0;
                                row += dilation_h;
                                slot += dilation_h;
                                if (slot >= slots) slot -= slots;
                                if (++ky == kernel_h) {
                                    ky = 0;
                                    row = row_top;
                                    slot = top_slot;
                                    column += column_step;
                                }
                            }
                        }
                    }
                    if (i < loads) {
                        const ek_word x = EK_RECEIVE(ek_words, received);
                        received++;
#pragma unroll
                        for (int b = 0; b < EK_WORD; b++) lines[load_slot * line_words + load_word][b] = x.d[b];
                        if (++load_word == line_words) {
                            load_word = 0;
                            if (++load_slot == slots) load_slot = 0;
                        }
                    }
                }
                if (need > loaded) loaded = need;
                if (phase) {
                    row_top += stride_h;
                    top_slot += stride_h;
                    if (top_slot >= slots) top_slot -= slots;
                }
            }
        }
    }
}

#ifdef EK_CHANNELS
/* Weights and requantization of each tile; `repeat` times where the mac cannot keep them. */
__kernel EK_TASK void ek_weights(__global const ek_weight *restrict weights, __global const ek_quant *restrict quants,
                                 uint tile_first, uint tile_end, uint steps, uint repeat, uint quantized)
{
    for (uint tile = tile_first; tile < tile_end; tile++) {
        if (quantized) write_channel_intel(ek_quants, quants[tile]);
        for (uint r = 0; r < repeat; r++)
            for (uint k = 0; k < steps; k++) write_channel_intel(ek_weight_words, weights[tile * steps + k]);
    }
}
#endif

/* One step of the array: EK_LANES x EK_VEC products. */
static ek_sum ek_multiply(ek_sum acc, const char a[EK_LANES][EK_VEC], ek_weight w)
{
#pragma unroll
    for (int l = 0; l < EK_LANES; l++) {
        int p = 0;
#pragma unroll
        for (int v = 0; v < EK_VEC; v++) p += (int)a[l][v] * (int)w.w[l][v];
        acc.v[l] += p;
    }
    return acc;
}

static ek_sum ek_zero_sum(void)
{
    ek_sum zero;
#pragma unroll
    for (int l = 0; l < EK_LANES; l++) zero.v[l] = 0;
    return zero;
}

/* CONV: a word of taps serves all lanes; weights of a tile are kept while its pixels pass.
 * DEPTHWISE: a lane has its own channel. Columns of taps move through a shift register, the newest
 * in front; while those of one pixel come in, the products of the one before are made. */
__kernel EK_TASK void ek_mac(EK_IN(ek_word, ek_taps) EK_IN(ek_weight, ek_weight_words) EK_OUT(ek_sum, ek_sums)
                                 uint mode,
                             uint tile_first, uint tile_end, uint lines, uint pixels, uint steps, uint keep,
                             uint first_shifts, uint shifts, int a_multiplier, int b_multiplier, int bias)
{
    ek_weight kept[EK_WEIGHT_WORDS];
    char taps[EK_TAPS][EK_LANES], held[EK_TAPS][EK_LANES], a[EK_LANES][EK_VEC];
    uint received = 0, sent = 0;
    for (uint tile = tile_first; tile < tile_end; tile++) {
        if (mode == EK_MAC_DEPTHWISE) {
            for (uint k = 0; k < steps; k++) kept[k] = EK_RECEIVE(ek_weight_words, tile * steps + k);
            for (uint line = 0; line < lines; line++)
                for (uint pixel = 0; pixel <= pixels; pixel++) {
                    const uint in = pixel == pixels ? 0 : pixel ? shifts : first_shifts, out = pixel ? steps : 0;
                    ek_sum acc = ek_zero_sum();
                    for (uint i = 0; i < in || i < out; i++) {
                        if (i < out) {
#pragma unroll
                            for (int l = 0; l < EK_LANES; l++)
#pragma unroll
                                for (int v = 0; v < EK_VEC; v++) a[l][v] = held[v][l];
                            acc = ek_multiply(acc, a, kept[i]);
#pragma unroll
                            for (int t = 0; t < EK_TAPS - EK_VEC; t++)
#pragma unroll
                                for (int l = 0; l < EK_LANES; l++) held[t][l] = held[t + EK_VEC][l];
                        }
                        if (i < in) {
                            const ek_word x = EK_RECEIVE(ek_taps, received);
                            received++;
#pragma unroll
                            for (int t = EK_TAPS - 1; t > 0; t--)
#pragma unroll
                                for (int l = 0; l < EK_LANES; l++) taps[t][l] = taps[t - 1][l];
#pragma unroll
                            for (int l = 0; l < EK_LANES; l++) taps[0][l] = x.d[l];
                        }
                    }
                    if (pixel) {
                        EK_SEND(ek_sums, sent, acc);
                        sent++;
                    }
#pragma unroll
                    for (int t = 0; t < EK_TAPS; t++)
#pragma unroll
                        for (int l = 0; l < EK_LANES; l++) held[t][l] = taps[t][l];
                }
        } else if (mode == EK_MAC_CONV) {
            for (uint pixel = 0; pixel < lines * pixels; pixel++) {
                ek_sum acc = ek_zero_sum();
                for (uint k = 0; k < steps; k++) {
                    const ek_word x = EK_RECEIVE(ek_taps, received);
                    ek_weight w;
                    received++;
                    if (!keep || !pixel)
                        w = EK_RECEIVE(ek_weight_words, tile * steps + k);
                    else
                        w = kept[k];
                    if (keep && !pixel) kept[k] = w;
#pragma unroll
                    for (int l = 0; l < EK_LANES; l++)
#pragma unroll
                        for (int v = 0; v < EK_VEC; v++) a[l][v] = x.d[v];
                    acc = ek_multiply(acc, a, w);
                }
                EK_SEND(ek_sums, sent, acc);
                sent++;
            }
        } else {
            for (uint pixel = 0; pixel < lines * pixels; pixel++) {
                const ek_word x = EK_RECEIVE(ek_taps, received);
                ek_sum acc;
                received++;
#pragma unroll
                for (int l = 0; l < EK_LANES; l++) acc.v[l] = x.d[l];
                if (mode == EK_MAC_ADD) {
                    const ek_word y = EK_RECEIVE(ek_taps, received);
                    received++;
#pragma unroll
                    for (int l = 0; l < EK_LANES; l++)
                        acc.v[l] = acc.v[l] * a_multiplier + y.d[l] * b_multiplier + bias;
                }
                EK_SEND(ek_sums, sent, acc);
                sent++;
            }
        }
    }
}

__kernel EK_TASK void ek_requant(EK_IN(ek_sum, ek_sums) EK_IN(ek_quant, ek_quants) EK_OUT(ek_pixel, ek_pixels)
                                     uint mode,
                                 uint tile_first, uint tile_end, uint count, int zero, int shift, int qmin, int qmax)
{
    uint passed = 0;
    for (uint tile = tile_first; tile < tile_end; tile++) {
        ek_quant p;
        if (mode == EK_REQUANT_SCALE) p = EK_RECEIVE(ek_quants, tile);
        for (uint i = 0; i < count; i++) {
            const ek_sum acc = EK_RECEIVE(ek_sums, passed);
            ek_pixel q;
#pragma unroll
            for (int l = 0; l < EK_LANES; l++) {
                int v = acc.v[l];
                if (mode == EK_REQUANT_SCALE) {
                    v = (int)((uint)v + (uint)p.bias[l]);
                    v = (int)((uint)ek_scale(v, p.multiplier[l], p.shift[l]) + (uint)zero);
                } else if (mode == EK_REQUANT_SHIFT) {
                    v >>= shift;
                }
                q.v[l] = ek_clamp(v, qmin, qmax);
            }
            EK_SEND(ek_pixels, passed, q);
            passed++;
        }
    }
}

/* Pooling windows over lines kept on chip, in a ring as in ek_window. `means`: (multiplier, shift)
 * for windows of i + 1 elements, or one pair for all. */
__kernel EK_TASK void ek_pool(EK_IN(ek_pixel, ek_pixels) EK_OUT(ek_pixel, ek_pooled) __global const int *restrict means,
                              uint mode, uint pass, uint maps, int in_h, int in_w, uint out_h, uint out_w,
                              uint kernel_h, uint kernel_w, int stride_h, int stride_w, int dilation_h, int dilation_w,
                              int pad_top, int pad_left, int slots, uint counts, int in_zero, int out_zero, int qmin,
                              int qmax)
{
    ek_pixel lines[EK_POOL_WORDS];
    uint received = 0, sent = 0;
    for (uint i = 0; i < pass; i++) EK_SEND(ek_pooled, i, EK_RECEIVE(ek_pixels, i));
    if (mode == EK_POOL_PASS) return;
    for (uint map = 0; map < maps; map++) {
        int loaded = 0, load_slot = pad_top % slots, top_slot = 0, top = -pad_top;
        for (uint oy = 0; oy < out_h; oy++) {
            int need = top + (int)(kernel_h - 1) * dilation_h + 1;
            need = oy == out_h - 1 || need > in_h ? in_h : need;
            for (; loaded < need; loaded++) {
                /* Rows below the last window still have to be taken from the link. */
                const bool wanted = loaded < top + (int)(kernel_h - 1) * dilation_h + 1;
                for (int x = 0; x < in_w; x++) {
                    const ek_pixel p = EK_RECEIVE(ek_pixels, received);
                    received++;
                    if (wanted) lines[load_slot * in_w + x] = p;
                }
                if (++load_slot == slots) load_slot = 0;
            }
            for (uint ox = 0; ox < out_w; ox++) {
                const int left = (int)ox * stride_w - pad_left;
                ek_sum acc;
                ek_pixel q;
                int count = 0, slot = top_slot, y = top;
#pragma unroll
                for (int l = 0; l < EK_LANES; l++) acc.v[l] = mode == EK_POOL_MAX ? -128 : 0;
                for (uint ky = 0; ky < kernel_h; ky++) {
                    for (uint kx = 0; kx < kernel_w; kx++) {
                        const int x = left + (int)kx * dilation_w;
                        if (y < 0 || y >= in_h || x < 0 || x >= in_w) continue;
                        const ek_pixel p = lines[slot * in_w + x];
                        count++;
#pragma unroll
                        for (int l = 0; l < EK_LANES; l++)
                            acc.v[l] = mode == EK_POOL_MEAN ? acc.v[l] + p.v[l] : max(acc.v[l], (int)p.v[l]);
                    }
                    y += dilation_h;
                    slot += dilation_h;
                    if (slot >= slots) slot -= slots;
                }
                const int entry = counts == 1 || !count ? 0 : count - 1;
                const int multiplier = means[2 * entry], shift = means[2 * entry + 1];
#pragma unroll
                for (int l = 0; l < EK_LANES; l++) {
                    int v = acc.v[l];
                    if (mode == EK_POOL_MEAN) v = ek_scale((v - count * in_zero) * 16, multiplier, shift) + out_zero;
                    q.v[l] = ek_clamp(v, qmin, qmax);
                }
                EK_SEND(ek_pooled, sent, q);
                sent++;
            }
            top += stride_h;
            top_slot += stride_h;
            if (top_slot >= slots) top_slot -= slots;
        }
    }
}

/* Lanes beyond the group's channels, and bytes from `bytes` of an image on, are not written. */
__kernel EK_TASK void ek_write(EK_IN(ek_pixel, ek_pooled) __global char *restrict arena, uint at, uint tile_first,
                               uint tile_end, uint group_tiles, uint group_channels, uint images, uint image_step,
                               uint count, uint pixel_step, uint bytes)
{
    uint received = 0;
    for (uint tile = tile_first; tile < tile_end; tile++) {
        const uint group = tile / group_tiles, first = (tile - group * group_tiles) * EK_LANES;
        for (uint image = 0; image < images; image++)
            for (uint i = 0; i < count; i++) {
                const ek_pixel q = EK_RECEIVE(ek_pooled, received);
                const uint to = i * pixel_step + group * group_channels + first;
                received++;
#pragma unroll
                for (int l = 0; l < EK_LANES; l++)
                    if (first + l < group_channels && to + l < bytes) arena[at + image * image_step + to + l] = q.v[l];
            }
    }
}

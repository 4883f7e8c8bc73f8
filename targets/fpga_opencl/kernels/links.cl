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

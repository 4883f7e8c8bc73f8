/* What the families of check_kernels share. Plain C: it also runs on bare metal and emulators. */
#ifndef EDGEKIT_CHECK_H
#define EDGEKIT_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "edgekit/kernels.h"

/* check_NAME of each kernel of kernels.def compares it in `opt` with `ref`; false after the first difference, which
 * it has printed. It skips a kernel that `opt` lacks or that is the reference's own function. */
#define EK_CHECK(name, arguments, users) bool check_##name(const ek_kernels *ref, const ek_kernels *opt);
EK_KERNELS(EK_NOTHING, EK_CHECK, EK_CHECK, EK_NOTHING)
#undef EK_CHECK

typedef void (*bench_fn)(const ek_kernels *ref, const ek_kernels *opt);

void bench_gemm(const ek_kernels *ref, const ek_kernels *opt);
void bench_depthwise(const ek_kernels *ref, const ek_kernels *opt);
void bench_s16(const ek_kernels *ref, const ek_kernels *opt);
void bench_elementwise(const ek_kernels *ref, const ek_kernels *opt);
void bench_elementwise_s16(const ek_kernels *ref, const ek_kernels *opt);
void bench_quantize_f32(const ek_kernels *ref, const ek_kernels *opt);
void bench_pool(const ek_kernels *ref, const ek_kernels *opt);

/* Trials per slot; fewer where an emulator runs them. */
extern uint32_t check_trials;
/* Whether allocations may border on pages that cannot be touched: masked loads and stores next to
 * them are right but slow, so not while benchmarks run. */
extern bool check_pages;

void rnd_seed(uint32_t seed);
uint32_t rnd(void);
int32_t rnd_between(int32_t lo, int32_t hi); /* inclusive */

/* An allocation that ends exactly at its last byte and starts at a random alignment, so that a
 * sanitizer sees one byte too far; on Linux every other one ends, or begins, at a page that cannot be
 * touched, which also catches masked vector loads; on bare metal some end where the memory does.
 * `align` (a power of two up to 16) is kept; it divides `bytes`. Never NULL. */
typedef struct block {
    void *start, *data;
    size_t mapped; /* bytes, when it is not from malloc */
} block;

block block_make(size_t bytes, size_t align);
void block_free(block b);

/* All minimum, all maximum, a mix of extremes, or uniform. */
void fill_s8(int8_t *p, size_t count);
/* The same for weights: mostly without -128, which the toolkit never makes and kernels may treat apart. */
void fill_weights(int8_t *p, size_t count);
void fill_f32(float *p, size_t count);

/* Weights of 4 bits [n][k] in any groups, and the int8 that they mean to `weights`. */
typedef struct nibbles {
    block rows, multipliers;
    ek_w4 w;
} nibbles;

nibbles nibbles_make(int8_t *weights, uint32_t n, uint32_t k);

/* An output with guards on both sides; both tables write into equal ones. */
typedef struct output {
    uint8_t *all, *data;
    size_t bytes;
} output;

output output_make(size_t bytes, size_t align); /* filled with a pattern, the same every time */
void output_free(output o);
/* Where the whole of two outputs, guards included, first differs; -1 for equal. Relative to data. */
bool output_equal(const output *a, const output *b, ptrdiff_t *where);

/* A bias that keeps every |accumulator| below 2^30, at times only just, and the largest of them in `bound`. Sums of
 * products are from `lo` to `hi`, one of them `some`. Most biases are within `reach`, or near -some, where a shift to
 * the left shows. */
int32_t bias_between(int32_t lo, int32_t hi, int32_t some, int32_t reach, int64_t *bound);

/* Legal per-channel requantization for n channels of which |acc| <= bound[j] < 2^30. */
typedef struct requant_data {
    block multiplier, shift;
    int32_t zero_point, qmin, qmax;
} requant_data;

requant_data requant_make(const int64_t *bound, size_t n);
void requant_free(requant_data r);

/* Seconds that one call of fn takes: the best of a few rounds. */
double seconds_per_call(void (*fn)(void *), void *context);
void bench_line(const char *slot, const char *shape, const char *table, double work, double ref, double opt,
                const char *unit);

#endif

/* Arithmetic and runs of the quantizer, for the host's Python alone: no part of the runtime. */
#ifndef EDGEKIT_BINDING_TOOLKIT_H
#define EDGEKIT_BINDING_TOOLKIT_H

#include <stdint.h>

#include "edgekit/edgekit.h"

/* [cdef] */
/* Where inputs of a convolution [n, height, width, channels] meet its kernel. */
typedef struct {
    int32_t height, width, channels, groups;
    int32_t kernel_h, kernel_w, stride_h, stride_w, dilation_h, dilation_w, top, left;
    int32_t output_h, output_w;
} ek_windows;

/* out [samples, groups, count, kernel_h * kernel_w * channels / groups]: round(x / step), half to even, of x [samples,
   images, height, width, channels] at the outputs of each sample numbered `places` [samples, count]; 0 beyond the
   borders. What does not fit int32 is INT32_MAX in magnitude. `known` takes one sample of x in steps, each made once;
   NULL: only what is met. */
void ek_columns_f32(const ek_windows *w, const float *x, double step, const int32_t *places, int32_t count,
                    int32_t samples, int32_t images, int32_t *known, int32_t *out);

/* The same of x - zero, which must fit. */
void ek_columns_s16(const ek_windows *w, const int16_t *x, int32_t zero, const int32_t *places, int32_t count,
                    int32_t samples, int32_t images, int16_t *out);
void ek_columns_s8(const ek_windows *w, const int8_t *x, int32_t zero, const int32_t *places, int32_t count,
                   int32_t samples, int32_t images, int16_t *out);

/* out = x [count] if that fits, in magnitude; else 0 is returned. */
int32_t ek_narrowed_s16(const int32_t *x, size_t count, int16_t *out);

/* out [groups, k]: the sums of x [groups, rows, k] over its rows. */
void ek_sums_s16(const int16_t *x, int32_t groups, int32_t rows, int32_t k, int64_t *out);

/* out [rows, pitch], or `transposed` [k, pitch] = x [rows, k] - middle [k], zeros behind. Returns the largest magnitude
   of these; above INT16_MAX, out says nothing. */
int32_t ek_centred_s16(const int16_t *x, const int32_t *middle, int32_t rows, int32_t k, int32_t transposed,
                       int16_t *out, int32_t pitch);

/* out [m, n] = a [m, pitch] b' [n, pitch]: exact sums of products, each of which is at most `most` in magnitude. pitch
   is a multiple of 32; behind the last row of each there are 3 more to read. `same`: a is b, m is n. */
void ek_dot_s16(const int16_t *a, const int16_t *b, int32_t m, int32_t n, int32_t pitch, int64_t most, int32_t same,
                int64_t *out);

/* The same in int32, which must hold the sums. */
void ek_dot_s16_s32(const int16_t *a, const int16_t *b, int32_t m, int32_t n, int32_t pitch, int64_t most, int32_t same,
                    int32_t *out);

/* qq, xq [groups, k, k]: (q - q0)' (q - q0) and (x - x0)' (q - q0), of x and q [samples, groups, rows, k], samples
   `apart`; and the sum over samples of the squares that the former has of each off the diagonals, in the order of
   numpy.sum. 0 is returned if int32 may not hold the sums, or int16 the differences. spare [2 * (k + 4), pitch], pitch
   a multiple of 32 and at least `rows`, own [groups, k, k], and diagonals [groups] are for intermediate results. */
int32_t ek_moments_s16(const int16_t *x, const int16_t *q, int32_t samples, size_t apart, int32_t groups, int32_t rows,
                       int32_t k, const int32_t *x0, const int32_t *q0, int16_t *spare, int32_t pitch, int32_t *own,
                       double *diagonals, int32_t *qq, int32_t *xq, double *squares);

/* The sum over samples of the squares that (q - middle)' (q - middle) has off the diagonal, of q [samples, rows, k] of
   few rows, from (q - middle) (q - middle)': as many squares, and fewer numbers. 0 is returned if int32 may not hold
   these, or int16 the differences. spare [rows + 4, pitch], as above of at least k, outer [rows, rows], and powers [k]
   are for intermediate results. */
int32_t ek_few_squares_s16(const int16_t *q, const int32_t *middle, int32_t samples, int32_t rows, int32_t k,
                           int16_t *spare, int32_t pitch, int32_t *outer, double *powers, double *squares);

/* For k up to 64 and each of `groups`: qq [k, k] += (q - q0)' (q - q0), xq += (x - x0)' (q - q0), of x and q [rows, k];
   exact below 2^53. */
void ek_small_moments_s32(const int32_t *x, const int32_t *q, int32_t groups, int32_t rows, int32_t k,
                          const int32_t *x0, const int32_t *q0, double *qq, double *xq);

/* The sum of the squares of whole - part [groups, k, k] off the diagonals; `part` is NULL, or what is left out. */
double ek_squares_without_f64(const double *whole, const int32_t *part, int32_t groups, int32_t k);

/* out [groups, k, k] = factor ((whole - part) / count - m m'), with the means m [groups, k], and `diagonal` [groups, k]
   on the diagonals. */
void ek_moments_without_f32(const double *whole, const int32_t *part, int32_t groups, int32_t k, double count,
                            double factor, const double *means, const double *diagonal, float *out);

/* For each of `groups`: out [n, l] = a [n, k] m [k, l], summed in order of k. */
void ek_product_f64(const double *a, const double *m, int32_t groups, int32_t n, int32_t k, int32_t l, double *out);
void ek_product_f32(const float *a, const float *m, int32_t groups, int32_t n, int32_t k, int32_t l, float *out);

/* The same of (unit m - less) [k, l], without `less` if that is NULL. */
void ek_product_of_s32_f64(const double *a, const int32_t *m, const int32_t *less, double unit, int32_t groups,
                           int32_t n, int32_t k, int32_t l, double *out);
void ek_product_of_s32_f32(const float *a, const int32_t *m, const int32_t *less, double unit, int32_t groups,
                           int32_t n, int32_t k, int32_t l, float *out);

/* For each of `groups`: upper triangular r [k, k] with r' r = h, in place of h; what is below the diagonal becomes 0.
   Updates come in the order of rows. Returns whether each h is positive definite. */
int32_t ek_cholesky_f64(double *h, int32_t groups, int32_t k);
int32_t ek_cholesky_f32(float *h, int32_t groups, int32_t k);

/* For each of `groups`: y r^-1, in place of y [n, k]. */
void ek_divide_f64(double *y, const double *r, int32_t groups, int32_t n, int32_t k);
void ek_divide_f32(float *y, const float *r, int32_t groups, int32_t n, int32_t k);

/* For each of `groups`: y r'^-1, in place of y [n, k]. */
void ek_divide_transposed_f64(double *y, const double *r, int32_t groups, int32_t n, int32_t k);
void ek_divide_transposed_f32(float *y, const float *r, int32_t groups, int32_t n, int32_t k);

/* Babai's nearest plane: integers z [n, k] in [-limit, limit], in steps [n, k], for y [n, k], which is used up; r is
   upper triangular. `price` is NULL, or what z costs beside its squared error, at price[z]: then the cheapest of those
   near the nearest. */
void ek_nearest_plane_f64(double *y, const double *r, const double *steps, int32_t n, int32_t k, double limit,
                          const double *price, double *z);

/* Coordinate descent from z [n, k], in place, at most `sweeps` times; gradient [n, k] = z * steps h - b, kept so;
   `price` as above. */
void ek_descend_f64(double *z, double *gradient, const double *h, const double *steps, int32_t n, int32_t k,
                    double limit, const double *price, int32_t sweeps);

/* For each of n rows of magnitudes [n, k], whose largest is `limit` times the scale given: the part of this scale, one
   of `fractions`, that rounds them with the least squared error, weighed by `counts` [n, k] unless NULL. */
void ek_least_error_f64(const double *rows, const double *counts, int32_t n, int32_t k, double limit,
                        const double *fractions, int32_t tried, double *scales);

/* The sum of squares of x [count]. */
double ek_energy_f32(const float *x, int64_t count);

/* Steps `first` to `last` of a tensor: x has the nearest to x * inverse + zero, which holds (step - zero) * scale. */
typedef struct ek_steps {
    float inverse, scale, zero, first, last;
} ek_steps;

/* What is held for x [count] but at least for `floor` [count], unless NULL. Added to sums [3]: the squares of x, of all
   errors, and of those beyond the steps, which are counted. bins [EK_STEP_BINS]: x in equal parts of the steps. */
#define EK_STEP_BINS 256
int64_t ek_step_errors_f32(const float *x, const float *floor, int64_t count, const ek_steps *s, double *sums,
                           int64_t *bins);

/* The errors of y [rows, channels] beside x, at least `floor` likewise: added to shift [channels], and their squares
   and those of what is held for y to sums [2]. */
void ek_weighted_errors_f32(const float *y, const float *x, const float *floor, int64_t rows, int32_t channels,
                            const ek_steps *s, double *sums, double *shift);

/* `count` runs: each input of one lies behind that of the run before, from `from` on, and so do outputs from `to` on.
   The first status but EK_OK ends them. */
ek_status ek_run_many(ek_session *session, uint32_t count, uint32_t inputs, const uint8_t *const *from,
                      uint32_t outputs, uint8_t *const *to);

/* Give memory that this process has freed back to the system, where its C library keeps it (glibc). */
void ek_return_freed(void);

/* Threads that start from now on allocate what they need where the others do. Arrays of up to 32 MiB come from there
   too, and what is freed stays for others (glibc). */
void ek_share_heap(void);
/* [/cdef] */

#endif

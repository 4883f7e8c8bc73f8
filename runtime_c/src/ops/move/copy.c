/* Copy: any strided view of a tensor made contiguous: transposes, slices, repeats, flips. */
#include "op.h"

static ek_status copy_check(const ek_node *n)
{
    const ek_fmt_copy *p = n->params;
    const ek_fmt_tensor_type *in = ek_in_type(n, 0), *out = ek_out_type(n, 0);
    if (!ek_check_same_dtype(n, 0)) return EK_ERR_CORRUPT;
    if (!p->element_bytes || p->element_bytes != ek_dtype_bytes(in->dtype)) return EK_ERR_CORRUPT;
    const int64_t elements = in->bytes / p->element_bytes, limit = INT64_C(1) << 32;
    int64_t low = p->offset, high = p->offset;
    uint64_t count = 1;
    for (int d = 0; d < 6; d++) {
        if (!p->dims[d] || p->dims[d] > INT32_MAX) return EK_ERR_CORRUPT;
        count = ek_mul64(count, p->dims[d]);
        const int64_t span = (int64_t)(p->dims[d] - 1) * p->strides[d];
        if (span < -limit || span > limit) return EK_ERR_CORRUPT;
        low += span < 0 ? span : 0;
        high += span > 0 ? span : 0;
    }
    const bool inside = low >= 0 && high < elements && ek_mul64(count, p->element_bytes) == out->bytes;
    return inside ? EK_OK : EK_ERR_CORRUPT;
}

/* rows x cols elements, neighbours in a row and in a column `col` and `row` bytes apart in `in`. */
typedef struct plane {
    size_t rows, cols;
    ptrdiff_t row, col;
} plane;

enum { TILE = 32 };

/* Tiles keep both the lines read and the lines written in the first cache; within one the longer
 * side is the inner loop (images have 3 channels). memcpy of a constant size is one load or store. */
#define MOVE(name, bytes)                                                                            \
    static void name(uint8_t *out, const uint8_t *in, const plane *p)                                \
    {                                                                                                \
        for (size_t r0 = 0; r0 < p->rows; r0 += TILE) {                                              \
            const size_t r1 = r0 + TILE < p->rows ? r0 + TILE : p->rows;                             \
            for (size_t c0 = 0; c0 < p->cols; c0 += TILE) {                                          \
                const size_t c1 = c0 + TILE < p->cols ? c0 + TILE : p->cols;                         \
                if (c1 - c0 >= r1 - r0) {                                                            \
                    for (size_t r = r0; r < r1; r++) {                                               \
                        const uint8_t *from = in + (ptrdiff_t)r * p->row;                            \
                        uint8_t *to = out + r * p->cols * (bytes);                                   \
                        for (size_t c = c0; c < c1; c++)                                             \
                            memcpy(to + c * (bytes), from + (ptrdiff_t)c * p->col, bytes);           \
                    }                                                                                \
                } else {                                                                             \
                    for (size_t c = c0; c < c1; c++) {                                               \
                        const uint8_t *from = in + (ptrdiff_t)c * p->col;                            \
                        uint8_t *to = out + c * (bytes);                                             \
                        for (size_t r = r0; r < r1; r++)                                             \
                            memcpy(to + r * p->cols * (bytes), from + (ptrdiff_t)r * p->row, bytes); \
                    }                                                                                \
                }                                                                                    \
            }                                                                                        \
        }                                                                                            \
    }

MOVE(move_1, 1)
MOVE(move_2, 2)
MOVE(move_4, 4)

static void move_plane(uint8_t *out, const uint8_t *in, const plane *p, uint32_t bytes)
{
    if (p->cols == 1 || p->col == (ptrdiff_t)bytes) {
        const size_t copy_run = p->cols * bytes;
        for (size_t r = 0; r < p->rows; r++) memcpy(out + r * copy_run, in + (ptrdiff_t)r * p->row, copy_run);
    } else if (bytes == 1) {
        move_1(out, in, p);
    } else if (bytes == 2) {
        move_2(out, in, p);
    } else {
        move_4(out, in, p);
    }
}

static ek_status copy_run(const ek_node *n)
{
    const ek_fmt_copy *p = n->params;
    const ptrdiff_t bytes = (ptrdiff_t)p->element_bytes;
    const plane inner = { p->dims[4], p->dims[5], p->strides[4] * bytes, p->strides[5] * bytes };
    const size_t out_step = inner.rows * inner.cols * (size_t)bytes;
    const uint8_t *in = ek_in(n, 0);
    uint8_t *out = ek_out(n, 0);
    ptrdiff_t at = (ptrdiff_t)p->offset * bytes;
    uint32_t index[4] = { 0 };
    for (;;) {
        move_plane(out, in + at, &inner, p->element_bytes);
        out += out_step;
        int d = 3;
        while (d >= 0 && ++index[d] == p->dims[d]) {
            index[d] = 0;
            at -= (ptrdiff_t)(p->dims[d] - 1) * p->strides[d] * bytes;
            d--;
        }
        if (d < 0) return EK_OK;
        at += p->strides[d] * bytes;
    }
}

const ek_op ek_op_copy = { .inputs_min = 1, .inputs_max = 1, .outputs = 1, .check = copy_check, .run = copy_run };

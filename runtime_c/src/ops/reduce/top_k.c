/* The k first elements along an axis in ascending or descending order, and where they were; of equal ones the first.
 * Built for s8, s16, f32, s32, s64, u64 and f64. A heap of indices, the last of the order on top, lies in the output.
 */
#include "element.h"
#include "ops/axis.h"

#define TOP_K_TYPE_s8  int8_t
#define TOP_K_TYPE_s16 int16_t
#define TOP_K_TYPE_f32 float
#define TOP_K_TYPE_s32 int32_t
#define TOP_K_TYPE_s64 int64_t
#define TOP_K_TYPE_u64 uint64_t
#define TOP_K_TYPE_f64 double

enum {
    top_k_dtype_s8 = EK_DTYPE_INT8,
    top_k_dtype_s16 = EK_DTYPE_INT16,
    top_k_dtype_f32 = EK_DTYPE_FLOAT32,
    top_k_dtype_s32 = EK_DTYPE_INT32,
    top_k_dtype_s64 = EK_DTYPE_INT64,
    top_k_dtype_u64 = EK_DTYPE_UINT64,
    top_k_dtype_f64 = EK_DTYPE_FLOAT64,
};

typedef EK_TYPED(TOP_K_TYPE) top_k_number;

/* A line of the input, and the heap: indices `step` apart. */
typedef struct top_k_line {
    const top_k_number *in;
    int32_t *heap;
    size_t step;
    bool smallest;
} top_k_line;

static ek_status top_k_check(const ek_node *n)
{
    const ek_fmt_top_k *p = n->params;
    const ek_fmt_axis_view *v = &p->view;
    const uint64_t count = ek_mul64(ek_mul64(v->outer, p->k), v->inner);
    return ek_check_view(n, v, EK_TYPED(top_k_dtype)) && v->axis <= INT32_MAX && p->k && p->k <= v->axis &&
                   p->smallest <= 1 && n->op->outputs == 2 && ek_check_out(n, 0, EK_TYPED(top_k_dtype), count) &&
                   ek_check_out(n, 1, EK_DTYPE_INT32, count)
               ? EK_OK
               : EK_ERR_CORRUPT;
}

/* Whether element i comes behind element j in the order. */
static bool top_k_behind(const top_k_line *l, int32_t i, int32_t j)
{
    const top_k_number x = l->in[(size_t)i * l->step], y = l->in[(size_t)j * l->step];
    if (l->smallest ? x > y : x < y) return true;
    return (l->smallest ? x < y : x > y) ? false : i > j;
}

/* Put index i where the heap of `size` has a hole at `at`, or below. */
static void top_k_sink(const top_k_line *l, size_t size, size_t at, int32_t i)
{
    for (size_t child; (child = 2 * at + 1) < size; at = child) {
        const bool other =
            child + 1 < size && top_k_behind(l, l->heap[(child + 1) * l->step], l->heap[child * l->step]);
        child += other ? 1 : 0;
        if (!top_k_behind(l, l->heap[child * l->step], i)) break;
        l->heap[at * l->step] = l->heap[child * l->step];
    }
    l->heap[at * l->step] = i;
}

static void top_k_sort(const top_k_line *l, size_t axis, size_t k)
{
    for (size_t i = 0; i < k; i++) l->heap[i * l->step] = (int32_t)i;
    for (size_t i = k / 2; i-- > 0;) top_k_sink(l, k, i, (int32_t)i);
    for (size_t i = k; i < axis; i++)
        if (top_k_behind(l, l->heap[0], (int32_t)i)) top_k_sink(l, k, 0, (int32_t)i);
    for (size_t size = k; size-- > 1;) {
        const int32_t last = l->heap[size * l->step];
        l->heap[size * l->step] = l->heap[0];
        top_k_sink(l, size, 0, last);
    }
}

static ek_status top_k_run(const ek_node *n)
{
    const ek_fmt_top_k *p = n->params;
    const size_t inner = p->view.inner;
    const top_k_number *in = ek_in(n, 0);
    top_k_number *values = ek_out(n, 0);
    int32_t *indices = ek_out(n, 1);
    for (size_t o = 0; o < p->view.outer; o++) {
        for (size_t j = 0; j < inner; j++) {
            const top_k_line l = { in + j, indices + j, inner, p->smallest != 0 };
            top_k_sort(&l, p->view.axis, p->k);
            for (size_t i = 0; i < p->k; i++) values[i * inner + j] = l.in[(size_t)l.heap[i * inner] * inner];
        }
        in += p->view.axis * inner;
        values += p->k * inner;
        indices += p->k * inner;
    }
    return EK_OK;
}

const ek_op
    EK_TYPED(ek_op_top_k) = { .inputs_min = 1, .inputs_max = 1, .outputs = 2, .check = top_k_check, .run = top_k_run };

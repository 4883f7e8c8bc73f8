/* NonMaxSuppression: of boxes those with the best scores that overlap no better one; batch, class and box of each, and
 * how many they are. 0 behind them. */
#include "op.h"

/* What a run decides by. */
typedef struct nms_limits {
    int64_t most;
    float overlap, score;
} nms_limits;

static ek_status non_max_suppression_check(const ek_node *n)
{
    const ek_fmt_non_max_suppression *p = n->params;
    const uint64_t boxes = ek_mul64(p->batch, p->boxes), scores = ek_mul64(boxes, p->classes);
    const bool sizes = p->boxes && p->boxes <= INT32_MAX && scores && p->most && p->centered <= 1;
    const bool fits = sizes && n->op->outputs == 2 && ek_check_in(n, 0, EK_DTYPE_FLOAT32, ek_mul64(boxes, 4)) &&
                      ek_check_in(n, 1, EK_DTYPE_FLOAT32, scores) && ek_check_in(n, 2, EK_DTYPE_INT32, 1) &&
                      ek_check_in(n, 3, EK_DTYPE_FLOAT32, 1) && ek_check_in(n, 4, EK_DTYPE_FLOAT32, 1) &&
                      ek_check_out(n, 0, EK_DTYPE_INT32, ek_mul64(p->most, 3)) && ek_check_out(n, 1, EK_DTYPE_INT32, 1);
    return fits ? EK_OK : EK_ERR_CORRUPT;
}

/* The candidates of one class, in order. */
static uint64_t non_max_suppression_scratch(const ek_node *n)
{
    const ek_fmt_non_max_suppression *p = n->params;
    return ek_mul64(p->boxes, sizeof(int32_t));
}

/* Corners of a box in order: y0, x0, y1, x1. */
static void nms_corners(const float *box, bool centered, float corners[4])
{
    for (int i = 0; i < 2; i++) {
        const float half = centered ? box[3 - i] * 0.5f : 0;
        const float a = centered ? box[1 - i] - half : box[i], b = centered ? box[1 - i] + half : box[i + 2];
        corners[i] = a < b ? a : b;
        corners[i + 2] = a < b ? b : a;
    }
}

/* Whether the boxes share more than a part of what they cover. */
static bool nms_overlap(const float *a, const float *b, bool centered, float part)
{
    float p[4], q[4], shared = 1, area_a = 1, area_b = 1;
    nms_corners(a, centered, p);
    nms_corners(b, centered, q);
    for (int i = 0; i < 2; i++) {
        const float low = p[i] > q[i] ? p[i] : q[i], high = p[i + 2] < q[i + 2] ? p[i + 2] : q[i + 2];
        shared *= high > low ? high - low : 0;
        area_a *= p[i + 2] - p[i];
        area_b *= q[i + 2] - q[i];
    }
    const float both = area_a + area_b - shared;
    return shared > 0 && both > 0 && shared > part * both;
}

/* Whether box i comes before box j. */
static bool nms_better(const float *scores, int32_t i, int32_t j)
{
    return scores[i] > scores[j] || (!(scores[i] < scores[j]) && i < j);
}

/* A heap whose top is the best. */
static void nms_sink(const float *scores, int32_t *heap, uint32_t size, uint32_t at, int32_t box)
{
    for (uint64_t child; (child = 2 * (uint64_t)at + 1) < size; at = (uint32_t)child) {
        if (child + 1 < size && nms_better(scores, heap[child + 1], heap[child])) child++;
        if (!nms_better(scores, heap[child], box)) break;
        heap[at] = heap[child];
    }
    heap[at] = box;
}

static bool nms_free(const float *boxes, const int32_t *rows, uint32_t many, int32_t box, bool centered, float part)
{
    for (uint32_t i = 0; i < many; i++)
        if (nms_overlap(boxes + (size_t)box * 4, boxes + (size_t)rows[3 * i + 2] * 4, centered, part)) return false;
    return true;
}

/* The rows of one class, from the first free one; how many, or UINT32_MAX without room. */
static uint32_t nms_class(const ek_fmt_non_max_suppression *p, const float *boxes, const float *scores, int32_t *heap,
                          int32_t *rows, uint32_t room, const nms_limits *limits)
{
    uint32_t size = 0, many = 0;
    for (uint32_t i = 0; i < p->boxes; i++)
        if (scores[i] > limits->score) heap[size++] = (int32_t)i;
    for (uint32_t i = size / 2; i-- > 0;) nms_sink(scores, heap, size, i, heap[i]);
    while (size && many < limits->most) {
        const int32_t best = heap[0], last = heap[--size];
        if (size) nms_sink(scores, heap, size, 0, last);
        if (!nms_free(boxes, rows, many, best, p->centered != 0, limits->overlap)) continue;
        if (many == room) return UINT32_MAX;
        rows[3 * many++ + 2] = best;
    }
    return many;
}

static ek_status non_max_suppression_run(const ek_node *n)
{
    const ek_fmt_non_max_suppression *p = n->params;
    const float *boxes = ek_in(n, 0), *scores = ek_in(n, 1);
    int32_t *rows = ek_out(n, 0), *found = ek_out(n, 1);
    nms_limits limits;
    memcpy(&limits.overlap, ek_in(n, 3), sizeof(float));
    memcpy(&limits.score, ek_in(n, 4), sizeof(float));
    limits.most = *(const int32_t *)ek_in(n, 2);
    memset(rows, 0, (size_t)p->most * 3 * sizeof *rows);
    uint32_t many = 0;
    for (uint32_t b = 0; b < p->batch; b++, boxes += (size_t)p->boxes * 4) {
        for (uint32_t c = 0; c < p->classes; c++, scores += p->boxes) {
            int32_t *first = rows + (size_t)many * 3;
            const uint32_t more = nms_class(p, boxes, scores, n->scratch, first, p->most - many, &limits);
            if (more == UINT32_MAX) return EK_ERR_INDEX;
            for (uint32_t i = 0; i < more; i++) {
                first[3 * i] = (int32_t)b;
                first[3 * i + 1] = (int32_t)c;
            }
            many += more;
        }
    }
    *found = (int32_t)many;
    return EK_OK;
}

const ek_op ek_op_non_max_suppression_f32 = { .inputs_min = 5,
                                              .inputs_max = 5,
                                              .outputs = 2,
                                              .check = non_max_suppression_check,
                                              .scratch = non_max_suppression_scratch,
                                              .run = non_max_suppression_run };

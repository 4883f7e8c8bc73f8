/* Probabilities of classes from those of all pairs of them (Wu, Lin and Weng, 2004, second method). */
#include "op.h"

enum { MOST_STEPS = 100, MOST_CLASSES = 1 << 12 };

static uint64_t pairs_of(const ek_fmt_pairwise_coupling *p)
{
    return (uint64_t)p->classes * (p->classes - 1) / 2;
}

static ek_status pairwise_coupling_f32_check(const ek_node *n)
{
    const ek_fmt_pairwise_coupling *p = n->params;
    const bool fits = p->rows && p->classes >= 2 && p->classes <= MOST_CLASSES &&
                      ek_check_in(n, 0, EK_DTYPE_FLOAT32, ek_mul64(p->rows, pairs_of(p))) &&
                      ek_check_out(n, 0, EK_DTYPE_FLOAT32, ek_mul64(p->rows, p->classes));
    return fits ? EK_OK : EK_ERR_CORRUPT;
}

/* A matrix, and its product with the probabilities. */
static uint64_t pairwise_coupling_f32_scratch(const ek_node *n)
{
    const ek_fmt_pairwise_coupling *p = n->params;
    return ek_mul64(ek_mul64(p->classes, (uint64_t)p->classes + 1), sizeof(float));
}

/* q[i][i] = sum of r[j][i]^2 over j, q[i][j] = -r[j][i] * r[i][j], r[i][j] the probability of i beside j. */
static void pairwise_coupling_f32_fill(float *q, const float *r, uint32_t k)
{
    for (uint32_t i = 0; i < k; i++) q[i * k + i] = 0.0f;
    for (uint32_t i = 0; i + 1 < k; i++) {
        for (uint32_t j = i + 1; j < k; j++) {
            const float first = *r++, second = 1.0f - first;
            q[i * k + i] += second * second;
            q[j * k + j] += first * first;
            q[i * k + j] = q[j * k + i] = -second * first;
        }
    }
}

static bool has_settled(const float *q, float *qp, const float *p, uint32_t k, float *pqp)
{
    float most = 0.0f;
    *pqp = 0.0f;
    for (uint32_t i = 0; i < k; i++) {
        qp[i] = 0.0f;
        for (uint32_t j = 0; j < k; j++) qp[i] += q[i * k + j] * p[j];
        *pqp += p[i] * qp[i];
    }
    for (uint32_t i = 0; i < k; i++) {
        const float error = qp[i] - *pqp, size = error < 0.0f ? -error : error;
        most = size > most ? size : most;
    }
    return most < 0.005f / (float)k;
}

static void couple(float *p, const float *r, float *q, uint32_t k)
{
    float *qp = q + (size_t)k * k, pqp;
    pairwise_coupling_f32_fill(q, r, k);
    for (uint32_t i = 0; i < k; i++) p[i] = 1.0f / (float)k;
    for (uint32_t step = 0; step < MOST_STEPS && !has_settled(q, qp, p, k, &pqp); step++) {
        for (uint32_t i = 0; i < k; i++) {
            const float diff = (pqp - qp[i]) / q[i * k + i], by = 1.0f + diff;
            p[i] += diff;
            pqp = (pqp + diff * (diff * q[i * k + i] + 2.0f * qp[i])) / by / by;
            for (uint32_t j = 0; j < k; j++) {
                qp[j] = (qp[j] + diff * q[i * k + j]) / by;
                p[j] /= by;
            }
        }
    }
}

static ek_status pairwise_coupling_f32_run(const ek_node *n)
{
    const ek_fmt_pairwise_coupling *p = n->params;
    const float *r = ek_in(n, 0);
    float *out = ek_out(n, 0);
    for (uint32_t row = 0; row < p->rows; row++, r += pairs_of(p), out += p->classes)
        couple(out, r, n->scratch, p->classes);
    return EK_OK;
}

const ek_op ek_op_pairwise_coupling_f32 = { .inputs_min = 1,
                                            .inputs_max = 1,
                                            .outputs = 1,
                                            .check = pairwise_coupling_f32_check,
                                            .scratch = pairwise_coupling_f32_scratch,
                                            .run = pairwise_coupling_f32_run };

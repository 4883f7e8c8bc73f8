#define REAL     double
#define OF(name) name##_f64
#include "triangular_real.h"

/* Integers that are tried at a price: the nearest, those around it, and 0. */
enum { NEARER = 4 };

static double rounded(double v, double limit)
{
    v = rint(v);
    return v < -limit ? -limit : v > limit ? limit : v;
}

/* The same without a call: what is added makes numbers below 2^51 whole. */
static inline double quickly_rounded(double v, double limit)
{
    v = v < -limit ? -limit : v > limit ? limit : v;
    return v + 6755399441055744.0 - 6755399441055744.0;
}

/* The integer near v that makes curve (z - v)^2 + price[z] least: of those around v, and of those nearer 0. */
static double cheapest(double v, double limit, double curve, const double *price)
{
    if (!price) return quickly_rounded(v, limit);
    double nearest = rounded(v, limit), best = nearest, least = INFINITY;
    for (int32_t i = -1; i <= NEARER; i++) {
        double z = i == NEARER ? 0 : rounded(nearest - copysign(i, nearest), limit);
        double cost = curve * (z - v) * (z - v) + price[(int32_t)z];
        if (cost < least) {
            least = cost;
            best = z;
        }
    }
    return best;
}

typedef struct {
    const double *steps, *price;
    double *z, limit;
    int32_t n, k;
} rounding;

/* y becomes what the integers stand for. */
static void round_columns(const void *context, int32_t start, int32_t end, double *y, const double *t)
{
    const rounding *to = context;
    for (int32_t i = 0; i < to->n; i++) {
        size_t at = (size_t)i * to->k + start;
        double *row = y + at;
        for (int32_t j = end - start - 1; j >= 0; j--) {
            double step = to->steps[at + j], plane = t[j * BLOCK + j] * step;
            double whole = cheapest(row[j] / plane, to->limit, plane * plane, to->price);
            to->z[at + j] = whole;
            row[j] = whole * step;
            add_few(row, -row[j], t + j * BLOCK, j);
        }
    }
}

void ek_nearest_plane_f64(double *y, const double *r, const double *steps, int32_t n, int32_t k, double limit,
                          const double *price, double *z)
{
    rounding to = { steps, price, z, limit, n, k };
    solve_backwards(y, r, n, k, round_columns, &to);
}

void ek_descend_f64(double *z, double *gradient, const double *h, const double *steps, int32_t n, int32_t k,
                    double limit, const double *price, int32_t sweeps)
{
    for (int32_t i = 0; i < n; i++) {
        double *row = gradient + (size_t)i * k, *whole = z + (size_t)i * k;
        const double *step = steps + (size_t)i * k;
        int moved = 1;
        for (int32_t sweep = 0; moved && sweep < sweeps; sweep++) {
            moved = 0;
            for (int32_t j = 0; j < k; j++) {
                double curve = h[(size_t)j * k + j] * step[j];
                double best = cheapest(whole[j] - row[j] / curve, limit, curve * step[j], price);
                double move = best - whole[j];
                if (move != 0) {
                    moved = 1;
                    whole[j] += move;
                    ek_add_row_f64(row, move * step[j], h + (size_t)j * k, k);
                }
            }
        }
    }
}

/* The double functions of <math.h> that edgekit's operators call. rint, ldexp and frexp are exact; pow is
 * within 2^-44 of the result, or of the least normal number where that is larger.
 */
#include <math.h>
#include <stdbool.h>
#include <stdint.h>

static const double two_52 = 4503599627370496.0;

static uint64_t bits_of_double(double x)
{
    union {
        double d;
        uint64_t u;
    } v = { x };
    return v.u;
}

static double double_of(uint64_t u)
{
    union {
        uint64_t u;
        double d;
    } v = { u };
    return v.d;
}

/* Adding 2^52 leaves no bits for a fraction: the sum is rounded, half to even. */
double rint(double x)
{
    if (!(fabs(x) < two_52)) return x;
    volatile double y = fabs(x) + two_52;
    return copysign(y - two_52, x);
}

/* 2^e of a normal number. */
static double power_of_two(int e)
{
    return double_of((uint64_t)(e + 1023) << 52);
}

/* The steps in front of the last are exact, so that a result below the normal ones is rounded once. */
double ldexp(double x, int e)
{
    int own = (int)(bits_of_double(x) >> 52 & 0x7ff);
    if (x == 0 || own == 0x7ff) return x;
    if (e > 2200) e = 2200;
    if (e < -2200) e = -2200;
    if (!own) {
        x *= power_of_two(54);
        own = (int)(bits_of_double(x) >> 52 & 0x7ff);
        e -= 54;
    }
    const int to = own + e;
    if (to > 2046) return copysign((double)INFINITY, x);
    const uint64_t rest = bits_of_double(x) & ~(UINT64_C(0x7ff) << 52);
    if (to > 0) return double_of(rest | (uint64_t)to << 52);
    if (to < -54) return copysign(0.0, x);
    return double_of(rest | (uint64_t)(to + 54) << 52) * power_of_two(-54);
}

double frexp(double x, int *e)
{
    int own = (int)(bits_of_double(x) >> 52 & 0x7ff), below = 0;
    *e = 0;
    if (x == 0 || own == 0x7ff) return x;
    if (!own) {
        x *= power_of_two(54);
        own = (int)(bits_of_double(x) >> 52 & 0x7ff);
        below = 54;
    }
    *e = own - 1022 - below;
    return double_of((bits_of_double(x) & ~(UINT64_C(0x7ff) << 52)) | UINT64_C(1022) << 52);
}

/* log(m), m in [sqrt(1/2), sqrt(2)): 2 atanh((m - 1) / (m + 1)), whose argument is below 0.172. */
static double log_near_1(double m)
{
    const double s = (m - 1) / (m + 1), z = s * s;
    double sum = 0;
    for (int k = 23; k >= 1; k -= 2) sum = sum * z + 1.0 / k;
    return 2 * s * sum;
}

/* exp(r), |r| below 0.35. */
static double exp_near_0(double r)
{
    double sum = 1;
    for (int k = 14; k >= 1; k--) sum = 1 + sum * r / k;
    return sum;
}

/* base > 0 and finite: 2^(exponent * log2(base)). */
static double positive_power(double base, double exponent)
{
    const double ln2 = 0.69314718055994530942;
    int e;
    double m = frexp(base, &e);
    if (m < 0.70710678118654752440) {
        m *= 2;
        e--;
    }
    /* The whole part of the power of two is exact as long as exponent * e is. */
    const double whole = exponent * e, part = exponent * (log_near_1(m) / ln2);
    if (!(fabs(whole) < 4096 && fabs(part) < 4096)) return whole + part > 0 ? (double)INFINITY : 0.0;
    const double k = rint(whole + part);
    return ldexp(exp_near_0(((whole - k) + part) * ln2), (int)k);
}

double pow(double base, double exponent)
{
    if (exponent == 0 || base == 1) return 1;
    if (isnan(base) || isnan(exponent)) return (double)NAN;
    const bool is_whole = rint(exponent) == exponent;
    const bool odd = is_whole && fabs(exponent) < 2 * two_52 && ((int64_t)exponent & 1);
    const double size = fabs(base);
    double r;
    if (isinf(exponent)) {
        r = size == 1 ? 1 : (size > 1) == (exponent > 0) ? (double)INFINITY : 0.0;
    } else if (size == 0 || isinf(size)) {
        r = (size == 0) == (exponent < 0) ? (double)INFINITY : 0.0;
    } else if (base < 0 && !is_whole) {
        return (double)NAN;
    } else {
        r = positive_power(size, exponent);
    }
    return odd ? copysign(r, base) : r;
}

/* The float functions of <math.h> that edgekit's float operators call. sqrtf, floorf, ceilf, rintf,
 * fmaxf and fminf are exact; the others are within 1e-6 of the result, or of 1 where it is smaller
 * (sines: of arguments below 10^4). powf loses a digit for every factor of ten in its exponent.
 */
#include <math.h>
#include <stdbool.h>
#include <stdint.h>

static inline uint32_t bits_of(float x)
{
    union {
        float f;
        uint32_t u;
    } v = { x };
    return v.u;
}
static inline float float_of(uint32_t u)
{
    union {
        uint32_t u;
        float f;
    } v = { u };
    return v.f;
}

/* Digit by digit; rounded to nearest. */
float sqrtf(float x)
{
    uint32_t m = bits_of(x) & 0x7fffff;
    int e = (int)(bits_of(x) >> 23);
    if (x == 0 || isnan(x) || x == INFINITY) return x;
    if (x < 0) return NAN;
    if (e) {
        m |= 0x800000;
    } else {
        const int s = __builtin_clz(m) - 8;
        m <<= s;
        e = 1 - s;
    }
    e -= 127;
    uint64_t rest = (uint64_t)m << (e & 1 ? 24 : 23), root = 0;
    for (uint64_t bit = UINT64_C(1) << 48; bit; bit >>= 2) {
        const bool fits = rest >= root + bit;
        if (fits) rest -= root + bit;
        root = (root >> 1) + (fits ? bit : 0);
    }
    if (rest > root) root++;
    return float_of(((uint32_t)((e >> 1) + 127) << 23) + ((uint32_t)root - 0x800000));
}

/* Half to even, as the adder does it. */
float rintf(float x)
{
    const float whole = 8388608.0f;
    if (!(fabsf(x) < whole)) return x;
    volatile float y = fabsf(x) + whole;
    return float_of(bits_of(y - whole) | (bits_of(x) & 0x80000000));
}
float floorf(float x)
{
    const float r = rintf(x);
    return r > x ? r - 1 : r;
}
float ceilf(float x)
{
    const float r = rintf(x);
    return r < x ? float_of(bits_of(r + 1) | (bits_of(x) & 0x80000000)) : r;
}
float fmaxf(float a, float b)
{
    return isnan(a) || a < b ? b : a;
}
float fminf(float a, float b)
{
    return isnan(a) || a > b ? b : a;
}

static inline float times_two_to(float x, int n)
{
    const int half = n / 2; /* in two steps, so that neither factor leaves the range */
    return x * float_of((uint32_t)(half + 127) << 23) * float_of((uint32_t)(n - half + 127) << 23);
}

static const float LN2_HIGH = 0.693145752f, LN2_LOW = 1.42860677e-6f;

/* e^r - 1 for |r| < 0.35. */
static inline float small_expm1(float r)
{
    float p = 1.0f / 5040;
    p = p * r + 1.0f / 720;
    p = p * r + 1.0f / 120;
    p = p * r + 1.0f / 24;
    p = p * r + 1.0f / 6;
    p = p * r + 0.5f;
    return r + r * r * p;
}

float expf(float x)
{
    if (isnan(x)) return x;
    if (x > 89) return INFINITY;
    if (x < -104) return 0;
    const float n = rintf(x * 1.44269504f);
    return times_two_to(1 + small_expm1(x - n * LN2_HIGH - n * LN2_LOW), (int)n);
}
float expm1f(float x)
{
    return fabsf(x) < 0.35f ? small_expm1(x) : expf(x) - 1;
}

/* log((1 + s) / (1 - s)) for |s| < 0.18. */
static inline float series_log(float s)
{
    const float z = s * s;
    return 2 * s + 2 * s * z * (1.0f / 3 + z * (1.0f / 5 + z * (1.0f / 7 + z * (1.0f / 9 + z * (1.0f / 11)))));
}

float logf(float x)
{
    if (isnan(x) || x == INFINITY) return x;
    if (x < 0) return NAN;
    if (x == 0) return -INFINITY;
    int e = 0;
    if (bits_of(x) < 0x00800000) {
        x *= 16777216.0f;
        e = -24;
    }
    const uint32_t up = bits_of(x) - 0x3f3504f3; /* mantissa from sqrt(1/2) to sqrt(2) */
    e += (int32_t)up >> 23;
    const float m = float_of((up & 0x7fffff) + 0x3f3504f3), f = m - 1;
    return (float)e * LN2_HIGH + (series_log(f / (2 + f)) + (float)e * LN2_LOW);
}
float log1pf(float x)
{
    return fabsf(x) < 0.25f ? series_log(x / (2 + x)) : logf(1 + x);
}

float tanhf(float x)
{
    const float e = expm1f(-2 * fabsf(x)), t = -e / (2 + e);
    return x < 0 ? -t : isnan(x) ? x : t;
}

/* Series below 2, Lentz's continued fraction of erfc above. */
float erff(float x)
{
    const float a = fabsf(x), z = a * a;
    if (isnan(x)) return x;
    float r = 1;
    if (a < 2) {
        float term = a, sum = a;
        for (int n = 1; n < 24; n++) {
            term *= 2 * z / (float)(2 * n + 1);
            sum += term;
        }
        r = 1.12837917f * expf(-z) * sum;
    } else if (a < 4) {
        float t = a;
        for (int n = 24; n; n--) t = a + (float)n * 0.5f / t;
        r = 1 - expf(-z) * 0.564189584f / t;
    }
    return x < 0 ? -r : r;
}

/* sin(r) and cos(r) for |r| <= pi / 4, and which quarter turns r is away from x. */
static inline int quarter(float x, float *sine, float *cosine)
{
    const float n = rintf(x * 0.636619772f);
    const float r = ((x - n * 1.5703125f) - n * 4.83751297e-4f) - n * 7.54978942e-8f, z = r * r;
    *sine = r + r * z * (-1.0f / 6 + z * (1.0f / 120 + z * (-1.0f / 5040 + z * (1.0f / 362880))));
    *cosine = 1 + z * (-0.5f + z * (1.0f / 24 + z * (-1.0f / 720 + z * (1.0f / 40320))));
    return (int)n & 3;
}
float sinf(float x)
{
    float s, c;
    if (!(fabsf(x) < 1e9f)) return NAN;
    const int q = quarter(x, &s, &c);
    const float r = q & 1 ? c : s;
    return q & 2 ? -r : r;
}
float cosf(float x)
{
    float s, c;
    if (!(fabsf(x) < 1e9f)) return NAN;
    const int q = quarter(x, &s, &c);
    const float r = q & 1 ? s : c;
    return q == 1 || q == 2 ? -r : r;
}

float powf(float base, float exponent)
{
    if (exponent == 0 || base == 1) return 1;
    const bool whole = rintf(exponent) == exponent;
    const bool odd = whole && fabsf(exponent) < 16777216.0f && ((int32_t)exponent & 1);
    const bool negative = bits_of(base) >> 31;
    if (base < 0 && !whole) return NAN;
    if (whole && fabsf(exponent) <= 64) { /* exact for squares and cubes */
        float r = 1, p = base;
        for (uint32_t n = (uint32_t)fabsf(exponent); n; n >>= 1, p *= p)
            if (n & 1) r *= p;
        return exponent < 0 ? 1 / r : r;
    }
    const float r = expf(exponent * logf(fabsf(base)));
    return negative && odd ? -r : r;
}

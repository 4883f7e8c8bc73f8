/* The float functions of <math.h> that few models use, by those of math.c. fmodf is exact; the others are within 1e-6
 * of the result, or of 1 where it is smaller.
 */
#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#define HALF_PI 1.57079633f

/* y is taken off, doubled as often as it goes into x, then halved. */
float fmodf(float x, float y)
{
    float rest = fabsf(x);
    const float d = fabsf(y);
    if (isnan(x) || isnan(y) || isinf(x) || d == 0) return NAN;
    if (isinf(y) || rest < d) return x;
    float step = d;
    while (step <= rest * 0.5f) step *= 2;
    for (; step >= d; step *= 0.5f)
        if (step <= rest) rest -= step;
    return __builtin_copysignf(rest, x);
}

float tanf(float x)
{
    return sinf(x) / cosf(x);
}
float sinhf(float x)
{
    const float e = expm1f(fabsf(x)), r = isinf(e) ? e : 0.5f * (e + e / (e + 1));
    return x == 0 ? x : x < 0 ? -r : isnan(x) ? x : r;
}
float coshf(float x)
{
    const float e = expf(fabsf(x));
    return 0.5f * (e + 1 / e);
}

/* A series for |x| <= tan(pi / 12); more is turned there. */
static inline float series_atan(float x)
{
    const float z = x * x;
    return x + x * z * (-1.0f / 3 + z * (1.0f / 5 + z * (-1.0f / 7 + z * (1.0f / 9 + z * (-1.0f / 11)))));
}
float atanf(float x)
{
    if (isnan(x) || x == 0) return x;
    float a = fabsf(x);
    const bool steep = a > 1;
    if (steep) a = 1 / a;
    float r =
        a <= 0.267949192f ? series_atan(a) : 0.523598776f + series_atan((a * 1.73205081f - 1) / (a + 1.73205081f));
    if (steep) r = HALF_PI - r;
    return x < 0 ? -r : r;
}
float asinf(float x)
{
    const float root = sqrtf((1 - x) * (1 + x));
    return isnan(root) ? NAN : root == 0 ? (x < 0 ? -HALF_PI : HALF_PI) : atanf(x / root);
}
float acosf(float x)
{
    return x < -1 || x > 1 || isnan(x) ? NAN : x == -1 ? 2 * HALF_PI : 2 * atanf(sqrtf((1 - x) / (1 + x)));
}
float asinhf(float x)
{
    const float a = fabsf(x);
    if (isnan(x) || isinf(x) || x == 0) return x;
    const float r = a > 1e9f ? logf(a) + 0.693147181f : log1pf(a + a * a / (1 + sqrtf(a * a + 1)));
    return x < 0 ? -r : r;
}
float acoshf(float x)
{
    if (x < 1 || isnan(x)) return NAN;
    const float t = x - 1;
    return x > 1e9f ? logf(x) + 0.693147181f : log1pf(t + sqrtf(t * (x + 1)));
}
float atanhf(float x)
{
    const float a = fabsf(x);
    if (a > 1 || isnan(x)) return NAN;
    const float r = a == 1 ? INFINITY : 0.5f * log1pf(2 * a / (1 - a));
    return x < 0 ? -r : r;
}

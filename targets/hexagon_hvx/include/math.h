/* What edgekit's float operators use of <math.h>; freestanding/math.c says how exact. */
#ifndef EK_HEXAGON_MATH_H
#define EK_HEXAGON_MATH_H

#define INFINITY        __builtin_inff()
#define NAN             __builtin_nanf("")
#define isnan(x)        __builtin_isnan(x)
#define isinf(x)        __builtin_isinf(x)
#define fabs(x)         __builtin_fabs(x)
#define fabsf(x)        __builtin_fabsf(x)
#define copysignf(x, y) __builtin_copysignf(x, y)

float sqrtf(float x);
float floorf(float x);
float ceilf(float x);
float rintf(float x);
float fmaxf(float a, float b);
float fminf(float a, float b);
float expf(float x);
float expm1f(float x);
float logf(float x);
float log1pf(float x);
float sinf(float x);
float cosf(float x);
float tanhf(float x);
float erff(float x);
float powf(float base, float exponent);
float fmodf(float x, float y);
float tanf(float x);
float sinhf(float x);
float coshf(float x);
float asinf(float x);
float acosf(float x);
float atanf(float x);
float asinhf(float x);
float acoshf(float x);
float atanhf(float x);

/* Of doubles, declared alone: v66 has no arithmetic for them, so what computes in float64 does not link. */
#define copysign(x, y) __builtin_copysign(x, y)
double rint(double x);
double ldexp(double x, int e);
double frexp(double x, int *e);
double pow(double base, double exponent);
double fmod(double x, double y);

#endif

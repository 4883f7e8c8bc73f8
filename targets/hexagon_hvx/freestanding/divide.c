/* Division, which Hexagon does not have and the compiler calls by these names. By zero: zero. */
#include <stdint.h>

#define DIVIDE(bits, unsigned_type, signed_type, suffix, leading_zeros)                                \
    static inline unsigned_type divide##bits(unsigned_type a, unsigned_type b, unsigned_type *rest)    \
    {                                                                                                  \
        unsigned_type q = 0;                                                                           \
        if (b && a >= b) {                                                                             \
            int s = leading_zeros(b) - leading_zeros(a);                                               \
            for (b <<= s; s >= 0; s--, b >>= 1) {                                                      \
                q <<= 1;                                                                               \
                if (a >= b) {                                                                          \
                    a -= b;                                                                            \
                    q |= 1;                                                                            \
                }                                                                                      \
            }                                                                                          \
        }                                                                                              \
        *rest = a;                                                                                     \
        return q;                                                                                      \
    }                                                                                                  \
    unsigned_type __hexagon_udiv##suffix(unsigned_type a, unsigned_type b);                            \
    unsigned_type __hexagon_umod##suffix(unsigned_type a, unsigned_type b);                            \
    signed_type __hexagon_div##suffix(signed_type a, signed_type b);                                   \
    signed_type __hexagon_mod##suffix(signed_type a, signed_type b);                                   \
    unsigned_type __hexagon_udiv##suffix(unsigned_type a, unsigned_type b)                             \
    {                                                                                                  \
        return divide##bits(a, b, &a);                                                                 \
    }                                                                                                  \
    unsigned_type __hexagon_umod##suffix(unsigned_type a, unsigned_type b)                             \
    {                                                                                                  \
        divide##bits(a, b, &b);                                                                        \
        return b;                                                                                      \
    }                                                                                                  \
    signed_type __hexagon_div##suffix(signed_type a, signed_type b)                                    \
    {                                                                                                  \
        const unsigned_type ua = a < 0 ? -(unsigned_type)a : (unsigned_type)a;                         \
        unsigned_type rest, q = divide##bits(ua, b < 0 ? -(unsigned_type)b : (unsigned_type)b, &rest); \
        return (signed_type)((a < 0) != (b < 0) ? -q : q);                                             \
    }                                                                                                  \
    signed_type __hexagon_mod##suffix(signed_type a, signed_type b)                                    \
    {                                                                                                  \
        const unsigned_type ua = a < 0 ? -(unsigned_type)a : (unsigned_type)a;                         \
        unsigned_type rest;                                                                            \
        divide##bits(ua, b < 0 ? -(unsigned_type)b : (unsigned_type)b, &rest);                         \
        return (signed_type)(a < 0 ? -rest : rest);                                                    \
    }

DIVIDE(32, uint32_t, int32_t, si3, __builtin_clz)
DIVIDE(64, uint64_t, int64_t, di3, __builtin_clzll)

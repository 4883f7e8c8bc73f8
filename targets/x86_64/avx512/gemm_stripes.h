/* All rows of a gemm by some panels, for the files that define ELEMENT, `columns` and, before this, R rows by
 * C panels:
 *     static void block(ELEMENT *out, size_t out_step, const ELEMENT *a, size_t a_step, const columns *w,
 *                       const int R, const int C)
 */
typedef void stripe_fn(ELEMENT *out, size_t out_step, const ELEMENT *a, size_t a_step, size_t rows, const columns *w);

/* Blocks of R rows, then what is left. */
EK_INLINE void stripe(ELEMENT *out, size_t out_step, const ELEMENT *a, size_t a_step, size_t rows, const columns *w,
                      const int R, const int C)
{
    for (; rows >= (size_t)R; rows -= (size_t)R, a += (size_t)R * a_step, out += (size_t)R * out_step)
        block(out, out_step, a, a_step, w, R, C);
    switch (rows) {
    case 7: block(out, out_step, a, a_step, w, 7, C); break;
    case 6: block(out, out_step, a, a_step, w, 6, C); break;
    case 5: block(out, out_step, a, a_step, w, 5, C); break;
    case 4: block(out, out_step, a, a_step, w, 4, C); break;
    case 3: block(out, out_step, a, a_step, w, 3, C); break;
    case 2: block(out, out_step, a, a_step, w, 2, C); break;
    case 1: block(out, out_step, a, a_step, w, 1, C); break;
    default: break;
    }
}

/* 24 accumulators and 4 weights fill the 32 registers. */
#define STRIPE(C, R)                                                                                   \
    static void stripe##C(ELEMENT *out, size_t out_step, const ELEMENT *a, size_t a_step, size_t rows, \
                          const columns *w)                                                            \
    {                                                                                                  \
        stripe(out, out_step, a, a_step, rows, w, R, C);                                               \
    }
STRIPE(1, 8)
STRIPE(2, 8)
STRIPE(3, 8)
STRIPE(4, 6)

/* Of as many panels as the index, and one. */
static stripe_fn *const stripes[4] = { stripe1, stripe2, stripe3, stripe4 };

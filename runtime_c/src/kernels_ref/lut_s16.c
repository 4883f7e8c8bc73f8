#include "reference.h"

#include "ops/lookup/lut_s16.h"

/* Of one comparison at its end, also where compilers are to save bytes. */
void ek_lut_s16_ref(int16_t *out, const int16_t *in, size_t count, const int16_t *table)
{
    if (!count) return;
    const int16_t *const end = in + count;
    do *out++ = lut_s16(table, *in++);
    while (in != end);
}

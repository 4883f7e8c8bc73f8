#include "kernels.h"
#include "kernels_ref/reference.h"
#include "requant.h"

/* Two nibbles of a byte times two inputs; `count` inputs. */
static int32_t dot(const int8_t *a, const uint8_t *row, uint32_t count)
{
    int32_t sum = 0;
    for (const int8_t *const end = a + count / 2 * 2; a != end; a += 2) {
        const uint32_t both = *row++;
        sum += a[0] * ((int32_t)(both << 28) >> 28) + a[1] * ((int32_t)(both << 24) >> 28);
    }
    return count % 2 ? sum + *a * ((int32_t)((uint32_t)*row << 28) >> 28) : sum;
}

void ek_m0_row_w4(int8_t *out, const int8_t *a, const ek_w4 *w, const ek_requant *r, uint32_t n)
{
    const uint8_t *row = w->nibbles, *multiplier = w->multipliers;
    const uint32_t k = w->k, group = w->group, most = group ? group : k;
    if (group % 2) { /* groups that begin within bytes */
        ek_row_w4_ref(out, a, w, r, n);
        return;
    }
    for (uint32_t j = 0; j < n; j++, row += k / 2 + k % 2) {
        uint32_t sum = (uint32_t)r->bias[j];
        for (uint32_t i = 0, now; i < k; i += now) {
            now = k - i < most ? k - i : most;
            const uint32_t part = (uint32_t)dot(a + i, row + i / 2, now);
            sum += group ? part * *multiplier++ : part;
        }
        out[j] = ek_m0_requantize((int32_t)sum, r, j);
    }
}

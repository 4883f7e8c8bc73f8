/* row_w4: 16 inputs by two channels at a time. A product of 32 bits is those of an input with both channels' weights
 * at once, in its halves: weights are 8 more than they mean, 0 to 15, and 16 such products stay within 16 bits. */
#include "kernels.h"
#include "kernels_ref/reference.h"
#include "requant.h"

enum { STEP = 16 };

/* Known to the code below by offset. */
typedef struct job {
    const int8_t *a;
    const uint8_t *w, *other; /* of both channels */
    const int8_t *end;        /* behind the last of at least one step's inputs */
    uint32_t sums[2], signs, mask;
    const uint8_t *multiplier;
    size_t apart;   /* to the other channel's multipliers */
    uint32_t shift; /* of an input's index, to that of its multiplier */
} job;

_Static_assert(sizeof(void *) != 4 || (offsetof(job, sums) == 16 && offsetof(job, multiplier) == 32), "");

/* clang-format off */

/* An input times weights in the halves of `w`, and the sum of inputs. */
#define PRODUCT(i, w)          \
    "ldrb r5, [r0, #" i "]\n"  \
    "sxtb r5, r5\n"            \
    "add r9, r5\n"             \
    "ands " w ", r7\n"         \
    "muls " w ", r5, " w "\n"  \
    "add r8, " w "\n"
#define TWO(byte, even, odd)      \
    "ldrb r3, [r1, #" byte "]\n"  \
    "ldrb r4, [r2, #" byte "]\n"  \
    "lsls r4, r4, #16\n"          \
    "orrs r3, r4\n"               \
    "eors r3, r6\n"               \
    "lsrs r4, r3, #4\n"           \
    PRODUCT(even, "r3")           \
    PRODUCT(odd, "r4")

static __attribute__((naked, noinline)) void multiply(__attribute__((unused)) job *j)
{
    __asm__ volatile(".syntax unified\n"
                     "push {r4-r7, lr}\n"
                     "mov r4, r8\n"
                     "mov r5, r9\n"
                     "mov r6, r10\n"
                     "mov r7, r11\n"
                     "push {r4-r7}\n"
                     "mov lr, r0\n"
                     "mov r7, r0\n"
                     "ldm r7!, {r0-r5}\n"
                     "mov r12, r3\n"
                     "mov r10, r4\n"
                     "mov r11, r5\n"
                     "1:\n"
                     "mov r7, lr\n"
                     "ldr r6, [r7, #24]\n"
                     "ldr r7, [r7, #28]\n"
                     "movs r3, #0\n"
                     "mov r8, r3\n"
                     "mov r9, r3\n"
                     TWO("0", "0", "1")
                     TWO("1", "2", "3")
                     TWO("2", "4", "5")
                     TWO("3", "6", "7")
                     TWO("4", "8", "9")
                     TWO("5", "10", "11")
                     TWO("6", "12", "13")
                     TWO("7", "14", "15")
                     "mov r3, r9\n" /* 8 of the sum of inputs are in the halves, too */
                     "lsls r3, r3, #3\n"
                     "mov r4, r8\n"
                     "subs r4, r4, r3\n"
                     "lsls r3, r3, #16\n"
                     "subs r4, r4, r3\n"
                     "sxth r3, r4\n"
                     "subs r4, r4, r3\n"
                     "asrs r4, r4, #16\n"
                     "mov r7, lr\n"
                     "ldr r5, [r7]\n"
                     "subs r5, r0, r5\n"
                     "ldr r6, [r7, #40]\n"
                     "lsrs r5, r6\n"
                     "ldr r6, [r7, #32]\n"
                     "adds r5, r5, r6\n"
                     "ldrb r6, [r5]\n"
                     "muls r3, r6, r3\n"
                     "add r10, r3\n"
                     "ldr r6, [r7, #36]\n"
                     "ldrb r6, [r5, r6]\n"
                     "muls r4, r6, r4\n"
                     "add r11, r4\n"
                     "adds r0, #16\n"
                     "adds r1, #8\n"
                     "adds r2, #8\n"
                     "cmp r0, r12\n"
                     "beq 2f\n"
                     "b 1b\n"
                     "2:\n"
                     "mov r3, r10\n"
                     "mov r4, r11\n"
                     "str r3, [r7, #16]\n"
                     "str r4, [r7, #20]\n"
                     "pop {r4-r7}\n"
                     "mov r8, r4\n"
                     "mov r9, r5\n"
                     "mov r10, r6\n"
                     "mov r11, r7\n"
                     "pop {r4-r7, pc}\n");
}

/* clang-format on */

/* The inputs behind the last step. */
static uint32_t product(const int8_t *a, const uint8_t *row, uint32_t count)
{
    int32_t sum = 0;
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t nibble = (uint32_t)row[i / 2] >> i % 2 * 4;
        sum += ((int32_t)(nibble << 28) >> 28) * a[i];
    }
    return (uint32_t)sum;
}

/* For 2^n n; 32 for what is none. */
static uint32_t log2_of(uint32_t group)
{
    uint32_t n = 0;
    while (n < 32 && group != UINT32_C(1) << n) n++;
    return n;
}

void ek_m0_row_w4(int8_t *out, const int8_t *a, const ek_w4 *w, const ek_requant *r, uint32_t n)
{
    static const uint8_t one = 1;
    const uint32_t k = w->k, group = w->group, tail = k % STEP, whole = k - tail;
    const uint32_t shift = group ? log2_of(group) : 31;
    if (group % STEP || shift > 31) { /* groups that begin within steps, or no power of two */
        ek_row_w4_ref(out, a, w, r, n);
        return;
    }
    const size_t row = k / 2 + k % 2, groups = group ? ((k - 1) >> shift) + 1 : 0;
    job j;
    j.a = a;
    j.end = a + whole;
    j.signs = 0x00880088;
    j.mask = 0x000f000f;
    j.shift = shift;
    for (uint32_t first = 0, channels; first < n; first += channels) {
        channels = n - first < 2 ? 1 : 2;
        j.w = w->nibbles + first * row;
        j.other = j.w + (channels - 1) * row;
        j.multiplier = group ? w->multipliers + first * groups : &one;
        j.apart = (channels - 1) * groups;
        for (uint32_t c = 0; c < channels; c++) j.sums[c] = (uint32_t)r->bias[first + c];
        if (whole) multiply(&j);
        for (uint32_t c = 0; c < channels; c++) {
            const uint8_t *const nibbles = c ? j.other : j.w, *const multiplier = j.multiplier + c * groups;
            if (tail) j.sums[c] += product(a + whole, nibbles + whole / 2, tail) * multiplier[whole >> shift];
            out[first + c] = ek_m0_requantize((int32_t)j.sums[c], r, first + c);
        }
    }
}

/* Front ends for sound, in integers: docs/arithmetic.md, "Sound". */
#include <stdbool.h>
#include <stddef.h>

#include "edgekit/sound.h"

enum { SOUND_MOST_FEATURE = (1 << 23) - 1 };

/* a * w / 2^16, the floor of it, w of 16 bits. */
static inline int32_t sound_half_product(int32_t a, int32_t w)
{
#if defined(__ARM_ARCH_ISA_THUMB) && __ARM_ARCH_ISA_THUMB == 1 /* which has no products of 64 bits */
    return (a >> 16) * w + ((int32_t)((uint32_t)a & 0xffffu) * w >> 16);
#else
    return (int32_t)((int64_t)a * ((int64_t)w * 65536) >> 32);
#endif
}

static uint32_t sound_bits_of(uint32_t x)
{
    uint32_t bits = 0;
    for (uint32_t step = 16; step; step >>= 1) {
        if (x >> step) {
            bits += step;
            x >>= step;
        }
    }
    return bits + x;
}

static uint32_t sound_bits_of_64(uint64_t x)
{
    const uint32_t high = (uint32_t)(x >> 32);
    return high ? 32u + sound_bits_of(high) : sound_bits_of((uint32_t)x);
}

/* A frame of a clip, from sample `begin` on, which may be before the first. */
typedef struct {
    const int16_t *clip;
    int32_t begin, count;
    bool reflected;
} sound_frame;

static int32_t sound_sample_at(const sound_frame *part, uint32_t n)
{
    int32_t i = part->begin + (int32_t)n;
    if (part->reflected) {
        i = i < 0 ? -i : i;
        i = i >= part->count ? 2 * part->count - 2 - i : i;
    }
    return i >= 0 && i < part->count ? part->clip[i] : 0;
}

/* Fill `work` with fft / 2 complex numbers, of two samples each, times the window and 2^shift, in the order of
 * reversed bits; return the shift, which is the largest that no product leaves 31 bits with. */
static uint32_t sound_take_samples(const ek_sound *sound, const sound_frame *part, int32_t *work)
{
    const bool whole = part->begin >= 0 && (uint32_t)part->begin + sound->window <= (uint32_t)part->count;
    const int16_t *const samples = part->clip + (whole ? part->begin : 0);
    int32_t largest = 0;
    for (uint32_t i = 0; i < sound->window; i++) {
        const int32_t x = whole ? samples[i] : sound_sample_at(part, i), size = x < 0 ? -x : x;
        if (size > largest) largest = size;
    }
    uint32_t up = 0;
    while (up < 15u && largest << (up + 1u) <= 32768) up++;
    const uint32_t half = sound->fft / 2u;
    uint32_t at = 0; /* i / 2, its bits reversed */
    for (uint32_t i = 0; i < sound->fft; i += 2) {
        for (uint32_t odd = 0; odd < 2u; odd++) {
            const uint32_t n = i + odd;
            int32_t y = 0;
            if (n < sound->window) y = (whole ? samples[n] : sound_sample_at(part, n)) * sound->window_q15[n];
            work[2u * at + odd] = y * (int32_t)(1u << up);
        }
        uint32_t bit = half >> 1;
        for (; bit && at & bit; bit >>= 1) at ^= bit;
        at |= bit;
    }
    return up;
}

/* a and b become half of a + b and a - b. */
static inline void sound_butterfly(int32_t *a, int32_t *b, int32_t b_re, int32_t b_im)
{
    const int32_t re = a[0] >> 1, im = a[1] >> 1;
    a[0] = re + b_re;
    a[1] = im + b_im;
    b[0] = re - b_re;
    b[1] = im - b_im;
}

/* The DFT of `half` complex numbers in the order of reversed bits, divided by `half`. */
static void sound_transform(int32_t *work, uint32_t half, const int16_t *sine)
{
    const uint32_t quarter = half / 2u;
    for (uint32_t length = 2; length <= half; length *= 2u) {
        const uint32_t step = 2u * half / length;
        int32_t *const end = work + 2u * half;
        for (uint32_t k = 0; k < length / 2u; k++) {
            int32_t *a = work + 2u * k;
            const int32_t c = sine[k * step + quarter], s = sine[k * step];
            if (k == 0) {
                for (; a < end; a += 2u * length) {
                    int32_t *b = a + length;
                    sound_butterfly(a, b, b[0] >> 1, b[1] >> 1);
                }
            } else if (k * step == quarter) {
                for (; a < end; a += 2u * length) {
                    int32_t *b = a + length;
                    sound_butterfly(a, b, b[1] >> 1, -(b[0] >> 1));
                }
            } else {
                for (; a < end; a += 2u * length) {
                    int32_t *b = a + length;
                    const int32_t re = b[0], im = b[1];
                    sound_butterfly(a, b, sound_half_product(re, c) + sound_half_product(im, s),
                                    sound_half_product(im, c) - sound_half_product(re, s));
                }
            }
        }
    }
}

static inline uint64_t sound_power_of(int32_t re, int32_t im)
{
    return (uint64_t)((int64_t)re * re + (int64_t)im * im);
}

/* Of a bin of the real DFT, by two of the complex one, halved: that of the bin and its mirror. */
static inline uint64_t sound_power_of_bin(const int32_t *one, const int32_t *two, int32_t c, int32_t s)
{
    const int32_t re = one[1] + two[1], im = two[0] - one[0];
    return sound_power_of(((one[0] + two[0]) >> 1) + sound_half_product(re, c) + sound_half_product(im, s),
                          ((one[1] - two[1]) >> 1) + sound_half_product(im, c) - sound_half_product(re, s));
}

/* The square root, of the upper 31 or 32 bits. */
static uint32_t sound_root_of(uint64_t power)
{
    const uint32_t down = (sound_bits_of((uint32_t)(power >> 32)) + 1u) & ~1u;
    uint32_t left = (uint32_t)(power >> down), root = 0;
    for (uint32_t bit = UINT32_C(1) << 30; bit; bit >>= 2) {
        const uint32_t more = root + bit;
        root >>= 1;
        if (left >= more) {
            left -= more;
            root += bit;
        }
    }
    return root << (down >> 1);
}

static void sound_put_bin(int32_t *place, uint64_t power, bool squares)
{
    const uint64_t value = squares ? power >> 12 : sound_root_of(power);
    place[0] = (int32_t)(uint32_t)value;
    place[1] = (int32_t)(uint32_t)(value >> 32);
}

/* Bins [low, high) of the real DFT in place of the complex one, two numbers each: magnitudes or squares. */
static void sound_measure(const ek_sound *sound, int32_t *work, uint32_t low, uint32_t high)
{
    const uint32_t half = sound->fft / 2u, quarter = half / 2u;
    const bool squares = sound->power == 2u;
    for (uint32_t k = 1; k < quarter; k++) {
        int32_t *const here = work + 2u * k, *const there = work + 2u * (half - k);
        const int32_t one[2] = { here[0] >> 1, here[1] >> 1 }, two[2] = { there[0] >> 1, there[1] >> 1 };
        if (k >= low && k < high)
            sound_put_bin(here, sound_power_of_bin(one, two, sound->sine[k + quarter], sound->sine[k]), squares);
        if (half - k >= low && half - k < high) {
            const int16_t *const mirror = sound->sine + (half - k);
            sound_put_bin(there, sound_power_of_bin(two, one, mirror[quarter], mirror[0]), squares);
        }
    }
    int32_t *const middle = work + 2u * quarter;
    sound_put_bin(middle, sound_power_of(middle[0] >> 1, middle[1] >> 1), squares);
}

/* log2 of x, which is at least 1, of 16 bits behind the point. */
static int32_t sound_log2_of(const uint16_t *points, uint64_t x)
{
    const uint32_t n = sound_bits_of_64(x) - 1u, up = 63u - n;
    const uint32_t aligned = (uint32_t)((x << up) >> 32);
    const uint32_t at = aligned >> 24 & 127u, rest = aligned >> 8 & 0xffffu;
    const uint32_t rise = ((uint32_t)points[at + 1u] - points[at]) & 0xffffu;
    return (int32_t)((n << 16) + points[at] + ((rise * rest + 0x8000u) >> 16));
}

static uint64_t sound_sum_of(const int32_t *bin, const uint16_t *weights, uint32_t count, bool squares)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < count; i++, bin += 2) {
        const uint32_t low = (uint32_t)bin[0];
        sum += (uint64_t)low * weights[i];
        if (squares) sum += (uint64_t)((uint32_t)bin[1] * weights[i]) << 32;
    }
    return sum;
}

/* log2 of each filter's sum and the offset, of 16 bits behind the point. */
static void sound_take_logs(const ek_sound *sound, int32_t *logs, const int32_t *bins, uint32_t up, int32_t peak)
{
    const uint16_t *weights = sound->weights;
    const bool squares = sound->power == 2u;
    const uint64_t scale = squares ? (uint64_t)((uint32_t)peak * (uint32_t)peak) : (uint32_t)peak;
    const int32_t room = 15 * (int32_t)sound->power;
    const int32_t relative = sound_log2_of(sound->log, (uint32_t)peak) - (15 << 16) + (int32_t)(up << 16);
    for (uint32_t m = 0; m < sound->mels; m++) {
        const uint32_t first = sound->filters[2u * m], count = sound->filters[2u * m + 1u];
        uint64_t sum = sound_sum_of(bins + 2u * first, weights, count, squares);
        weights += count;
        const int32_t places = sound->places[m] + (int32_t)(sound->power * up);
        const int32_t down = places > room ? places - room : 0, back = room + down - places;
        const uint64_t least = back > 63 ? 0u : (uint64_t)sound->least[m] * scale >> back;
        sum = down > 63 ? 0u : sum >> down;
        if (!sound->is_floor) {
            sum += least;
        } else if (sum < least) {
            sum = least;
        }
        logs[m] = sound_log2_of(sound->log, sum ? sum : 1u) + down * 65536 + sound->base[m] -
                  (int32_t)sound->power * relative;
    }
}

static void sound_combine(const ek_sound *sound, int32_t *features, const int32_t *logs)
{
    const int16_t *row = sound->dct;
    for (uint32_t j = 0; j < sound->features; j++) {
        int64_t sum = sound->constant;
        if (row) {
            for (uint32_t m = 0; m < sound->mels; m++) sum += (int64_t)logs[m] * row[m];
            row += sound->mels;
        } else {
            sum += (int64_t)logs[j] * sound->factor;
        }
        sum >>= sound->shift;
        features[j] = (int32_t)(sum < -SOUND_MOST_FEATURE  ? -SOUND_MOST_FEATURE
                                : sum > SOUND_MOST_FEATURE ? SOUND_MOST_FEATURE
                                                           : sum);
    }
}

static void sound_compute(const ek_sound *sound, int32_t *features, const sound_frame *part, int32_t peak,
                          int32_t *work)
{
    uint32_t low = sound->fft, high = 0;
    for (uint32_t m = 0; m < sound->mels; m++) {
        const uint32_t first = sound->filters[2u * m], end = first + sound->filters[2u * m + 1u];
        if (first < low) low = first;
        if (end > high) high = end;
    }
    const uint32_t up = sound_take_samples(sound, part, work);
    sound_transform(work, sound->fft / 2u, sound->sine);
    sound_measure(sound, work, low, high);
    sound_take_logs(sound, work + sound->fft, work, up, peak);
    sound_combine(sound, features, work + sound->fft);
}

void ek_sound_frame(const ek_sound *sound, int32_t *features, const int16_t *samples, int32_t peak, int32_t *work)
{
    const sound_frame part = { samples, 0, (int32_t)sound->window, false };
    sound_compute(sound, features, &part, peak, work);
}

void ek_sound_frame_of(const ek_sound *sound, int32_t *features, const int16_t *clip, uint32_t count, uint32_t number,
                       int32_t peak, int32_t *work)
{
    const int32_t begin = (int32_t)(number * sound->stride) - (int32_t)sound->lead;
    const sound_frame part = { clip, begin, (int32_t)count, sound->beyond == EK_SOUND_REFLECTED };
    sound_compute(sound, features, &part, peak, work);
}

int32_t ek_sound_peak(const ek_sound *sound, const int16_t *clip, uint32_t count)
{
    if (!sound->peaks) return 32768;
    int32_t largest = 1;
    for (uint32_t i = 0; i < count; i++) {
        if (clip[i] > largest) largest = clip[i];
    }
    return largest;
}

int32_t ek_sound_quantize(int32_t feature, uint32_t mantissa, int32_t exponent, int32_t zero_point, int32_t low,
                          int32_t high)
{
    if (feature == 0) return zero_point;
    uint32_t n = (uint32_t)(feature < 0 ? -feature : feature);
    const uint32_t up = 24u - sound_bits_of(n);
    n <<= up;
    uint32_t q = n >= mantissa, rest = q ? n - mantissa : n; /* n / mantissa, 25 bits behind the point */
    for (uint32_t digit = 0; digit < 4u; digit++) {
        const uint32_t bits = digit < 3u ? 8u : 1u;
        q = q << bits | (rest << bits) / mantissa;
        rest = (rest << bits) % mantissa;
    }
    const uint32_t drop = q >> 25 ? 2u : 1u, half = 1u << (drop - 1u), low_bits = q & (2u * half - 1u);
    q >>= drop; /* to the 24 bits of a float */
    q += low_bits > half || (low_bits == half && (rest || (q & 1u)));
    const int32_t places = 25 - (int32_t)drop + (int32_t)up + exponent;
    if (places < 1) return feature < 0 ? low : high;
    uint32_t whole = 0;
    if (places < 26) {
        const uint32_t part = q & ((1u << places) - 1u), middle = 1u << (places - 1);
        whole = q >> places;
        whole += part > middle || (part == middle && (whole & 1u));
    }
    const int32_t found = (feature < 0 ? -(int32_t)whole : (int32_t)whole) + zero_point;
    return found < low ? low : found > high ? high : found;
}

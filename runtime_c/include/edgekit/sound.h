/* Log-mel and MFCC features of int16 samples, in integers. `edgekit build` writes the tables of a front end and
 * functions that call these; docs/arithmetic.md defines the arithmetic. */
#ifndef EDGEKIT_SOUND_H
#define EDGEKIT_SOUND_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Fractional bits of a feature. */
#define EK_SOUND_FRACTION 14

/* Padding beyond the ends of a clip. */
enum { EK_SOUND_ZEROS = 0, EK_SOUND_REFLECTED = 1 };

/* A front end. It and its tables are owned by the caller and not verified. */
typedef struct {
    uint32_t window;            /* samples per frame */
    uint32_t stride;            /* samples from one frame to the next */
    uint32_t fft;               /* FFT points, a power of 2, at least 16 and at least `window` */
    uint32_t lead;              /* samples of padding before the clip, where the first frame begins */
    uint32_t beyond;            /* padding: EK_SOUND_ZEROS or EK_SOUND_REFLECTED */
    uint32_t mels;              /* number of filters */
    uint32_t features;          /* features per frame */
    uint32_t power;             /* 1: filters apply to magnitudes; 2: to their squares */
    uint32_t is_floor;          /* 1: `least` is the minimum of a sum; 0: it is added to the sum */
    uint32_t peaks;             /* 1: samples are divided by the largest magnitude of their clip */
    const uint16_t *window_q15; /* [window] */
    const int16_t *sine;        /* [3/4 fft] */
    const uint16_t *filters;    /* [mels][2]: first bin, number of bins */
    const uint16_t *weights;    /* of all filters, one after another */
    const uint16_t *log;        /* [129] */
    const int32_t *base;        /* [mels] */
    const uint32_t *least;      /* [mels] */
    const int32_t *places;      /* [mels] */
    const int16_t *dct;         /* [features][mels]; NULL: the features are the `mels` logarithms */
    int32_t factor;             /* of the logarithms, without `dct` */
    uint32_t shift;
    int64_t constant;
} ek_sound;

/* Compute the features [features] of a frame of `window` samples, with EK_SOUND_FRACTION fractional bits. `peak` is
 * 32768, or the result of ek_sound_peak. `work` has fft + mels elements. */
void ek_sound_frame(const ek_sound *sound, int32_t *features, const int16_t *samples, int32_t peak, int32_t *work);

/* As ek_sound_frame, for frame `number` of a clip of `count` samples. */
void ek_sound_frame_of(const ek_sound *sound, int32_t *features, const int16_t *clip, uint32_t count, uint32_t number,
                       int32_t peak, int32_t *work);

/* The largest magnitude of a clip, at least 1, if the front end divides by it; else 32768. */
int32_t ek_sound_peak(const ek_sound *sound, const int16_t *clip, uint32_t count);

/* Quantize a feature like ek_quantize_f32_s8 and ek_quantize_f32_s16, without floats: feature / (mantissa *
 * 2^exponent), rounded half to even, plus the zero point, clamped to [low, high]. `feature` is the integer with
 * EK_SOUND_FRACTION fractional bits, below 2^24 in magnitude; mantissa is in [2^23, 2^24). */
int32_t ek_sound_quantize(int32_t feature, uint32_t mantissa, int32_t exponent, int32_t zero_point, int32_t low,
                          int32_t high);

#ifdef __cplusplus
}
#endif

#endif

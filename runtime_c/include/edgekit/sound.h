/* Sound to what a model takes: log-mel and MFCC features of int16 samples, in integers. `edgekit build` writes the
 * tables of a front end and functions that call these; docs/arithmetic.md has the arithmetic. */
#ifndef EDGEKIT_SOUND_H
#define EDGEKIT_SOUND_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The bits of a feature behind the point. */
#define EK_SOUND_FRACTION 14

/* What lies beyond the ends of a clip. */
enum { EK_SOUND_ZEROS = 0, EK_SOUND_REFLECTED = 1 };

/* A front end. The caller keeps it and its tables; nothing is checked. */
typedef struct {
    uint32_t window;            /* samples of a frame */
    uint32_t stride;            /* samples from one frame to the next */
    uint32_t fft;               /* points, a power of 2 from 16 on, not below `window` */
    uint32_t lead;              /* how many samples before the clip its first frame begins */
    uint32_t beyond;            /* EK_SOUND_ZEROS or EK_SOUND_REFLECTED */
    uint32_t mels;              /* filters */
    uint32_t features;          /* of a frame */
    uint32_t power;             /* 1: filters are of magnitudes; 2: of their squares */
    uint32_t is_floor;          /* `least` is the least of a sum, else added to it */
    uint32_t peaks;             /* samples are divided by the largest of their clip */
    const uint16_t *window_q15; /* [window] */
    const int16_t *sine;        /* [3/4 fft] */
    const uint16_t *filters;    /* [mels][2]: first bin, number of bins */
    const uint16_t *weights;    /* of each filter in turn */
    const uint16_t *log;        /* [129] */
    const int32_t *base;        /* [mels] */
    const uint32_t *least;      /* [mels] */
    const int32_t *places;      /* [mels] */
    const int16_t *dct;         /* [features][mels]; NULL: the features are `mels` logarithms */
    int32_t factor;             /* of logarithms, without `dct` */
    uint32_t shift;
    int64_t constant;
} ek_sound;

/* The features [features] of a frame of `window` samples, of EK_SOUND_FRACTION bits behind the point. `peak` is 32768,
 * or what ek_sound_peak gives. `work` has fft + mels elements. */
void ek_sound_frame(const ek_sound *sound, int32_t *features, const int16_t *samples, int32_t peak, int32_t *work);

/* As ek_sound_frame, of frame `number` of a clip of `count` samples. */
void ek_sound_frame_of(const ek_sound *sound, int32_t *features, const int16_t *clip, uint32_t count, uint32_t number,
                       int32_t peak, int32_t *work);

/* The largest sample of a clip, at least 1, if the front end divides by it; else 32768. */
int32_t ek_sound_peak(const ek_sound *sound, const int16_t *clip, uint32_t count);

/* A feature of `fraction` bits behind the point, quantized as ek_quantize_f32_s8 and ek_quantize_f32_s16 do, without
 * floats: feature / (mantissa * 2^exponent) half to even, plus the zero point, within [low, high]. mantissa is in
 * [2^23, 2^24), |feature| below 2^24. */
int32_t ek_sound_quantize(int32_t feature, uint32_t mantissa, int32_t exponent, int32_t zero_point, int32_t low,
                          int32_t high);

#ifdef __cplusplus
}
#endif

#endif

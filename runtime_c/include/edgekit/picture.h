/* A camera's picture of any size to that of an input, in integers. `edgekit build` writes functions that call this;
 * docs/arithmetic.md has the arithmetic. */
#ifndef EDGEKIT_PICTURE_H
#define EDGEKIT_PICTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How a picture is brought into a canvas: its aspect ratio is changed, or what is beyond is cut off, or it is
 * surrounded by `fill`. */
enum { EK_PICTURE_SQUASH = 0, EK_PICTURE_CROP = 1, EK_PICTURE_LETTERBOX = 2 };

/* An input of pixels: the middle of a canvas. Sizes are at most 32767, those of the canvas not below the input's. */
typedef struct {
    uint32_t height, width, channels; /* of the input; 1 or 3 */
    uint32_t canvas_height, canvas_width;
    uint32_t fit;
    uint8_t fill;
    void (*get)(const uint8_t *line, uint32_t x, uint8_t *channels); /* a pixel of a row of the picture */
    void (*put)(void *input, uint32_t at, const uint8_t *channels);  /* a pixel of the input */
} ek_picture;

/* The most rows or columns of a picture. */
#define EK_PICTURE_MOST 4096

/* Elements of the memory that an input of so many columns and channels takes. */
#define EK_PICTURE_WORK(width, channels) (2 * (width) * (channels) + ((width) * (channels) + 3) / 4)

/* Fill `input` from `height` rows of `width` pixels, `stride` bytes apart. False, and nothing is written, if the
 * picture has no pixels or too many: more than EK_PICTURE_MOST rows or columns, or thousands that would become one. */
bool ek_picture_fit(const ek_picture *picture, void *input, const uint8_t *pixels, uint32_t height, uint32_t width,
                    size_t stride, uint32_t *work);

#ifdef __cplusplus
}
#endif

#endif

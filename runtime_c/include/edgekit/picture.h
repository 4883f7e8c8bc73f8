/* Resizes camera images to the size of an input, in integers. `edgekit build` writes functions that call this;
 * docs/arithmetic.md defines the arithmetic. */
#ifndef EDGEKIT_PICTURE_H
#define EDGEKIT_PICTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* How an image is fitted to the canvas: by changing its aspect ratio, by cropping, or by padding with `fill`. */
enum { EK_PICTURE_SQUASH = 0, EK_PICTURE_CROP = 1, EK_PICTURE_LETTERBOX = 2 };

/* An image input: the centre of a canvas. Sizes are at most 32767; the canvas must not be smaller than the input. */
typedef struct {
    uint32_t height, width, channels; /* of the input; 1 or 3 channels */
    uint32_t canvas_height, canvas_width;
    uint32_t fit;
    uint8_t fill;
    void (*get)(const uint8_t *line, uint32_t x, uint8_t *channels); /* reads a pixel of an image row */
    void (*put)(void *input, uint32_t at, const uint8_t *channels);  /* writes a pixel of the input */
} ek_picture;

/* Maximum number of rows or columns of an image. */
#define EK_PICTURE_MOST 4096

/* Number of elements of the working memory for an input with this width and number of channels. */
#define EK_PICTURE_WORK(width, channels) (2 * (width) * (channels) + ((width) * (channels) + 3) / 4)

/* Fill `input` from `height` rows of `width` pixels, `stride` bytes apart. Returns false, without writing anything, if
 * the image has no pixels, more than EK_PICTURE_MOST rows or columns, or would be reduced by a factor of thousands. */
bool ek_picture_fit(const ek_picture *picture, void *input, const uint8_t *pixels, uint32_t height, uint32_t width,
                    size_t stride, uint32_t *work);

#ifdef __cplusplus
}
#endif

#endif

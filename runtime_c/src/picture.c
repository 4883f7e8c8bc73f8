/* Pictures of any size to that of an input, in integers: docs/arithmetic.md, "Pictures". */
#include "edgekit/picture.h"

enum { PICTURE_MOST_SCALED = 32767, PICTURE_CHANNELS = 3 };

/* Rows or columns: `size` of the picture become `scaled`, of which the input's element i is number i + offset. Those in
 * [begin, end) are of the picture. */
typedef struct {
    int32_t size, scaled, offset;
    uint32_t begin, end;
} picture_axis;

static int32_t picture_half(int32_t n)
{
    return n < 0 ? -(-n / 2) : n / 2;
}

static picture_axis picture_axis_of(uint32_t size, uint32_t scaled, uint32_t canvas, uint32_t length)
{
    picture_axis axis = { (int32_t)size, (int32_t)scaled, 0, 0, length };
    axis.offset = picture_half((int32_t)scaled - (int32_t)canvas) + (int32_t)((canvas - length) / 2u);
    if (axis.offset < 0) axis.begin = (uint32_t)-axis.offset;
    if ((int32_t)length > axis.scaled - axis.offset) axis.end = (uint32_t)(axis.scaled - axis.offset);
    return axis;
}

/* Sums of weights times pixels, and twice the size squared, stay within 32 bits. */
static bool picture_is_possible(const picture_axis *axis)
{
    const uint32_t size = (uint32_t)axis->size;
    return axis->scaled <= PICTURE_MOST_SCALED && (size * size) >> 22 < (uint32_t)axis->scaled;
}

static uint32_t picture_rounded(uint32_t times, uint32_t by)
{
    const uint32_t found = (2u * times + by) / (2u * by);
    return found ? found : 1u;
}

static bool picture_axes_of(const ek_picture *picture, uint32_t height, uint32_t width, picture_axis *rows,
                            picture_axis *columns)
{
    if (height == 0 || width == 0 || height > EK_PICTURE_MOST || width > EK_PICTURE_MOST) return false;
    const uint32_t canvas_height = picture->canvas_height, canvas_width = picture->canvas_width;
    uint32_t tall = canvas_height, wide = canvas_width;
    const bool is_tall = height * canvas_width > width * canvas_height;
    if (picture->fit == EK_PICTURE_CROP) {
        if (is_tall) {
            tall = canvas_width * height / width;
        } else {
            wide = canvas_height * width / height;
        }
    } else if (picture->fit == EK_PICTURE_LETTERBOX) {
        if (is_tall) {
            wide = picture_rounded(canvas_height * width, height);
        } else {
            tall = picture_rounded(canvas_width * height, width);
        }
    }
    *rows = picture_axis_of(height, tall, canvas_height, picture->height);
    *columns = picture_axis_of(width, wide, canvas_width, picture->width);
    return picture_is_possible(rows) && picture_is_possible(columns);
}

/* Element `at` of the picture, in units of which these are 2 * scaled apart: `apart` is how far it is from the middle
 * of an element of the scaled picture. A triangle ends `reach` from its middle, where the next one's middle is, if
 * there are fewer elements than in the picture. */
typedef struct {
    int32_t at, apart;
} picture_tap;

static int32_t picture_reach(const picture_axis *axis)
{
    return 2 * (axis->size > axis->scaled ? axis->size : axis->scaled);
}

/* The first in the triangle of element `number`. */
static picture_tap picture_first_tap(const picture_axis *axis, int32_t number)
{
    const int32_t middle = (2 * number + 1) * axis->size;
    const int32_t before = middle - picture_reach(axis) - axis->scaled;
    const int32_t at = before < 0 ? 0 : before / (2 * axis->scaled) + 1;
    return (picture_tap){ at, (2 * at + 1) * axis->scaled - middle };
}

static uint32_t picture_weight(int32_t reach, int32_t apart)
{
    const int32_t weight = reach - (apart < 0 ? -apart : apart);
    return weight > 0 ? (uint32_t)weight : 0u;
}

/* sum / total to the nearest, which is below 256. */
static uint8_t picture_divided(uint32_t sum, uint32_t total)
{
    uint32_t rest = sum + total / 2u;
#if defined(__ARM_ARCH_ISA_THUMB) && __ARM_ARCH_ISA_THUMB == 1 /* which does not divide */
    uint32_t found = 0;
    for (uint32_t bit = 8; bit-- > 0;) {
        const uint32_t part = total << bit;
        if (rest >= part) {
            rest -= part;
            found |= 1u << bit;
        }
    }
    return (uint8_t)found;
#else
    rest /= total;
    return (uint8_t)rest;
#endif
}

/* Of pixels: how many they are, and the sum of how far they are apart; by channels, those sums of pixels. */
typedef struct {
    uint32_t count, apart, pixels[PICTURE_CHANNELS], products[PICTURE_CHANNELS];
} picture_sums;

/* Add up the pixels from `tap` on to the end of the triangle, and move on to the next one. */
static picture_sums picture_sum_up(const ek_picture *picture, const picture_axis *columns, const uint8_t *line,
                                   picture_tap *tap)
{
    const int32_t reach = picture_reach(columns), begin = tap->at;
    int32_t at = begin;
    uint32_t apart = (uint32_t)tap->apart, total = 0;
    uint32_t red = 0, green = 0, blue = 0, reds = 0, greens = 0, blues = 0;
    uint8_t value[PICTURE_CHANNELS] = { 0, 0, 0 };
    for (; at < columns->size && apart < (uint32_t)reach; at++) {
        picture->get(line, (uint32_t)at, value);
        red += value[0];
        reds += apart * value[0];
        green += value[1];
        greens += apart * value[1];
        blue += value[2];
        blues += apart * value[2];
        total += apart;
        apart += 2u * (uint32_t)columns->scaled;
    }
    tap->at = at;
    tap->apart = (int32_t)apart - reach;
    return (picture_sums){ (uint32_t)(at - begin), total, { red, green, blue }, { reds, greens, blues } };
}

/* One row of the picture, resampled, [columns->begin, columns->end). From the middle of one triangle to its end a pixel
 * has the weight reach - apart there, and apart in the next one. */
static void picture_take_line(const ek_picture *picture, const picture_axis *columns, const uint8_t *pixels,
                              uint8_t *line)
{
    const uint32_t reach = (uint32_t)picture_reach(columns);
    picture_tap tap = { 0, 0 };
    picture_sums before = { 0, 0, { 0, 0, 0 }, { 0, 0, 0 } };
    for (uint32_t x = columns->begin; x < columns->end; x++) {
        if (x == columns->begin || columns->scaled > columns->size) {
            tap = picture_first_tap(columns, (int32_t)x + columns->offset);
            tap.apart += (int32_t)reach;
            before = picture_sum_up(picture, columns, pixels, &tap);
        }
        const picture_sums after = picture_sum_up(picture, columns, pixels, &tap);
        const uint32_t total = before.apart + reach * after.count - after.apart;
        for (uint32_t c = 0; c < picture->channels; c++) {
            const uint32_t sum = before.products[c] + reach * after.pixels[c] - after.products[c];
            *line++ = picture_divided(sum, total);
        }
        before = after;
    }
}

static void picture_put_fill(const ek_picture *picture, void *input, uint32_t begin, uint32_t end)
{
    const uint8_t fill[PICTURE_CHANNELS] = { picture->fill, picture->fill, picture->fill };
    for (uint32_t at = begin; at < end; at++) picture->put(input, at, fill);
}

static void picture_put_row(const ek_picture *picture, void *input, uint32_t y, const picture_axis *columns,
                            uint32_t *sums, uint32_t total)
{
    const uint32_t at = y * picture->width;
    picture_put_fill(picture, input, at, at + columns->begin);
    for (uint32_t x = columns->begin; x < columns->end; x++) {
        uint8_t value[PICTURE_CHANNELS];
        for (uint32_t c = 0; c < picture->channels; c++) value[c] = picture_divided(*sums++, total);
        picture->put(input, at + x, value);
    }
    picture_put_fill(picture, input, at + columns->end, at + picture->width);
}

/* Rows of the picture are added to the row of the input that they are in the triangle of, and to the next, so that each
 * is resampled once; but where rows become more, anew for each. */
bool ek_picture_fit(const ek_picture *picture, void *input, const uint8_t *pixels, uint32_t height, uint32_t width,
                    size_t stride, uint32_t *work)
{
    picture_axis rows, columns;
    if (!picture_axes_of(picture, height, width, &rows, &columns)) return false;
    const uint32_t count = (columns.end - columns.begin) * picture->channels;
    uint32_t *sums = work, *next = work + (size_t)picture->width * picture->channels;
    uint8_t *const line = (uint8_t *)(next + (size_t)picture->width * picture->channels);
    picture_put_fill(picture, input, 0, rows.begin * picture->width);
    const int32_t reach = picture_reach(&rows);
    picture_tap tap = { 0, 0 };
    uint32_t total_next = 0;
    for (uint32_t y = rows.begin; y < rows.end; y++) {
        if (y == rows.begin || rows.scaled > rows.size) {
            tap = picture_first_tap(&rows, (int32_t)y + rows.offset);
            total_next = 0;
            for (uint32_t i = 0; i < count; i++) next[i] = 0;
        }
        uint32_t *const other = sums;
        uint32_t total = total_next;
        total_next = 0;
        sums = next;
        next = other;
        for (uint32_t i = 0; i < count; i++) next[i] = 0;
        for (; tap.at < rows.size; tap.at++) {
            const uint32_t weight = picture_weight(reach, tap.apart);
            if (weight == 0u) break;
            const uint32_t more = picture_weight(reach, tap.apart - 2 * rows.size);
            picture_take_line(picture, &columns, pixels + (size_t)tap.at * stride, line);
            for (uint32_t i = 0; i < count; i++) {
                sums[i] += weight * line[i];
                next[i] += more * line[i];
            }
            total += weight;
            total_next += more;
            tap.apart += 2 * rows.scaled;
        }
        tap.apart -= 2 * rows.size;
        picture_put_row(picture, input, y, &columns, sums, total);
    }
    picture_put_fill(picture, input, rows.end * picture->width, picture->height * picture->width);
    return true;
}

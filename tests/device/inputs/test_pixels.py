"""Pixels of a camera become in C what they become in Python, on every target."""

import ctypes
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from edgekit import runtime_c
from edgekit.calibration import ImageOptions, InputSpec
from edgekit.toolkit.device.described import PixelsOfC, c_float, c_string
from edgekit.toolkit.device.process import find
from edgekit.toolkit.ir import QuantParams
from edgekit.toolkit.preprocessing import FORMATS, Preprocessing, preset, to_rgb
from edgekit.toolkit.runtime import Session

from .made import file_of, library_of, on_device

PICTURE = runtime_c.SOURCE / "src/picture.c"
H, W = 5, 8
IMAGES = 1000
CROP, BOX = {"fit": "crop"}, {"fit": "letterbox", "fill": 114}
CASES = {
    "imagenet": (
        (1, 3, H, W),
        np.int8,
        replace(preset("imagenet"), resize=(7, 9), **CROP),
        QuantParams((0.0187,), -14),
    ),
    "shared": ((1, H, W, 3), np.int8, replace(preset("-1..1"), **BOX), QuantParams((2 / 255,), 0)),
    "no_table": ((1, H, W, 3), np.int8, preset("0..1"), QuantParams((1 / 255,), -128)),
    "gray": ((1, H, W, 1), np.int16, preset("0..1"), QuantParams.int16(1 / 32000)),
    "caffe": ((1, 3, H, W), np.float32, replace(preset("caffe"), **CROP), None),
    "alpha": (
        (1, H, W, 4),
        np.int8,
        ImageOptions(bgr=True, resize=(9, 8), **BOX),
        QuantParams((1 / 200,), -100),
    ),
}


def model_of(case):
    """A file whose input is as in CASES, with the record of it."""
    shape, kind, image, quant = CASES[case]
    made = Preprocessing.of(image, InputSpec("x", shape, np.dtype(np.float32)))
    return file_of(shape, kind, quant, made)


def pixels_of(form, seed):
    rng = np.random.default_rng(seed)
    return rng.integers(0, 256, (IMAGES, H, W, FORMATS[form].bytes)).astype(np.uint8)


def wanted(data, form, pixels):
    """Every image as a session takes it."""
    session = Session(data)
    rgb = to_rgb(pixels, form)
    return np.stack([session.to_raw({"x": image})[0] for image in rgb])


@cache
def of_case(case, form):
    """(pixels, what a session takes for them): for both compilers."""
    pixels = pixels_of(form, list(FORMATS).index(form))
    return pixels, wanted(model_of(case), form, pixels)


@cache
def pictures_of(case, form):
    """(pictures of many sizes, what a session takes for them), as many of all cases as IMAGES."""
    rng = np.random.default_rng(list(FORMATS).index(form))
    session, resized = Session(model_of(case)), CASES[case][2].resize is not None
    sizes = rng.integers(1, (16, 11), (-(-IMAGES // len(CASES)), 2)) * (1, 2)
    sizes[(sizes == (H, W)).all(axis=1) & resized] = 12, 16  # pixels of its size are prepared
    made = [rng.integers(0, 256, (h, w, FORMATS[form].bytes)).astype(np.uint8) for h, w in sizes]
    rgb = [to_rgb(pixels, form)[None] for pixels in made]
    return made, [session.to_raw({"x": image})[0] for image in rgb]


def test_rgb565_has_the_corners_of_rgb():
    words = np.array([0x0000, 0xFFFF, 0xF800, 0x07E0, 0x001F, 0x8410], "<u2").view(np.uint8)
    rgb = to_rgb(words.reshape(-1, 2), "rgb565").tolist()
    assert rgb == [[0, 0, 0], [255] * 3, [255, 0, 0], [0, 255, 0], [0, 0, 255], [132, 130, 132]]


def test_yuv_is_that_of_jpeg_and_needs_pairs():
    from PIL import Image

    rng = np.random.default_rng(5)
    pairs = rng.integers(0, 256, (40, 30, 2, 2)).astype(np.uint8)
    full = np.stack([pairs[..., 0], *(np.repeat(pairs[:, :, i : i + 1, 1], 2, 2) for i in (0, 1))],
                    axis=-1).reshape(40, 60, 3)  # fmt: skip
    right = np.asarray(Image.fromarray(full, "YCbCr").convert("RGB")).astype(int)
    mine = to_rgb(pairs.reshape(40, 60, 2), "yuyv")
    assert np.abs(mine - right).max() <= 1  # Pillow rounds each product
    assert np.array_equal(mine, to_rgb(pairs.reshape(40, 60, 2)[..., ::-1], "uyvy"))
    formats = PixelsOfC("f", "int8_t", Preprocessing(4, 5, 3, False, 1.0), False, []).formats
    assert [name for name, share in formats.items() if 5 % share] == ["yuyv", "uyvy"]


def pixel_library(folder, case, compiler):
    """The functions that `build` writes."""
    if not find(compiler):
        pytest.skip(f"{compiler} is not installed")
    return library_of(folder, model_of(case), compiler, PICTURE)


@pytest.fixture(scope="module")
def one_library(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pixels")
    return pixel_library(folder, "no_table", "gcc"), Session(model_of("no_table"))


@pytest.mark.parametrize("compiler", ["gcc", "clang-19"])
@pytest.mark.parametrize("case", CASES)
def test_c_gives_pythons_bytes_without_a_warning(tmp_path, case, compiler):
    library = pixel_library(tmp_path, case, compiler)
    for form in FORMATS:
        pixels, want = of_case(case, form)
        function = getattr(library, f"m_input_from_{form}")
        function.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t]
        row = W * FORMATS[form].bytes + 3  # bytes between rows belong to nobody
        for image, right in zip(pixels, want, strict=True):
            padded = np.full((H, row), 0xA5, np.uint8)
            padded[:, : row - 3] = image.reshape(H, -1)
            got = np.empty_like(right)
            function(got.ctypes.data, padded.ctypes.data, row)
            np.testing.assert_array_equal(got, right)
        for image, right in zip(*pictures_of(case, form), strict=True):
            got = fitted(library, form, image, np.empty_like(right))
            np.testing.assert_array_equal(got, right, f"{form} {image.shape}")
    assert ("_levels[" in (tmp_path / "m_input.c").read_text()) == (case != "no_table")


def fitted(library, form, image, out):
    """What the function `fit` makes of an image; None if it refuses."""
    function = getattr(library, f"m_input_fit_{form}")
    function.argtypes = [*[ctypes.c_void_p] * 2, *[ctypes.c_uint32] * 2, ctypes.c_size_t]
    function.restype = ctypes.c_bool
    height, width = image.shape[:2]
    flat = image.reshape(height, width * FORMATS[form].bytes)
    padded = np.pad(flat, ((0, 0), (0, 3)), constant_values=0xA5)
    done = function(out.ctypes.data, padded.ctypes.data, height, width, padded.shape[1])
    return out if done else None


@pytest.mark.parametrize(
    ("shape", "taken"),
    [((4096, 4), True), ((4097, 4), False), ((4, 4098), False), ((3, 3), False), ((0, 4), False)],
)
def test_c_refuses_sizes_that_it_cannot_compute_with(one_library, shape, taken):
    """Those at the limits give Python's bytes; uyvy has no odd widths."""
    library, session = one_library
    image = np.random.default_rng(0).choice([0, 255], (*shape, 2)).astype(np.uint8)
    got = fitted(library, "uyvy", image, np.empty((1, H, W, 3), np.int8))
    assert (got is not None) == taken
    if taken:
        right = session.to_raw({"x": to_rgb(image, "uyvy")[None]})[0]
        np.testing.assert_array_equal(got, right[None] if right.ndim == 3 else right)


MAIN = """
#include "edgekit/edgekit.h"
#include "m_model.h"

static uint8_t pixels[32 * 32 * 3];
static uint8_t out[%d];

int main(int argc, char **argv)
{
    const int from = argc == 3 ? io_open(argv[1], 0) : -1;
    const int to = argc == 3 ? io_open(argv[2], 1) : -1;
    void (*const made[])(void *, const uint8_t *, size_t) = { %s };
    bool (*const fit[])(void *, const uint8_t *, uint32_t, uint32_t, size_t) = { %s };
    static const uint8_t bytes[] = { %s };
    uint8_t size[2];
    if (from < 0 || to < 0) return 1;
    for (uint32_t f = 0; f < sizeof bytes; f++) {
        for (uint32_t i = 0; i < %d; i++) {
            if (io_read(from, pixels, %d * bytes[f]) != %d * (size_t)bytes[f]) return 2;
            made[f](out, pixels, %d * (size_t)bytes[f]);
            if (io_write(to, out, sizeof out) != sizeof out) return 3;
        }
        for (uint32_t i = 0; i < %d; i++) {
            if (io_read(from, size, 2) != 2) return 4;
            const size_t row = (size_t)size[1] * bytes[f];
            if (io_read(from, pixels, size[0] * row) != size[0] * row) return 5;
            if (!fit[f](out, pixels, size[0], size[1], row)) return 6;
            if (io_write(to, out, sizeof out) != sizeof out) return 7;
        }
    }
    io_close(to);
    return 0;
}
"""


@pytest.mark.parametrize("name", ["cortex_m4", "cortex_m0plus", "aarch64_linux"])
def test_a_device_gives_pythons_bytes(ready, tmp_path, name):
    target = ready(name)
    data = model_of("imagenet")
    want, given, fits = [], [], [pictures_of("imagenet", f) for f in FORMATS]
    for form, (pictures, right) in zip(FORMATS, fits, strict=True):
        pixels, prepared = of_case("imagenet", form)
        want += [prepared.tobytes(), *(r.tobytes() for r in right)]
        given += [pixels.tobytes(), *(bytes(p.shape[:2]) + p.tobytes() for p in pictures)]
    names = ", ".join(f"m_input_from_{f}" for f in FORMATS)
    each = ", ".join(str(f.bytes) for f in FORMATS.values())
    functions = names, names.replace("from", "fit"), each
    main = MAIN % (right[0].nbytes, *functions, IMAGES, H * W, H * W, W, len(right))
    assert on_device(target, tmp_path, data, main, b"".join(given)) == b"".join(want)


def test_literals_of_c_are_the_numbers_and_names():
    for value in (0.1, 1e-9, 3e38, -2.5, 0.0, 128.0):
        assert np.float32(c_float(value).rstrip("f")) == np.float32(value)
        assert any(c in c_float(value) for c in ".e")
    assert c_string('a"b\\c??/é\n') == '"a\\"b\\\\c\\?\\?/\\303\\251\\012"'

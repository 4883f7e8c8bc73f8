"""Pictures as samples, sound and broken."""

import numpy as np
import pytest
from PIL import Image

from edgekit.calibration import (
    CalibrationError,
    ImageOptions,
)

from .sample_files import error_of, picture, read


@pytest.mark.parametrize("shape", [(1, 4, 6, 3), (1, 3, 4, 6)])
def test_pictures_are_scaled_to_one_in_the_model_layout(tmp_path, shape):
    pixels = picture(tmp_path / "x.png")
    (x,) = read(tmp_path / "x.png", shape)
    expected = (pixels / 255).astype(np.float32)
    assert np.array_equal(x[0] if shape[3] == 3 else x[0].transpose(1, 2, 0), expected)


def test_mean_std_and_blue_first_follow_the_formula(tmp_path):
    pixels = picture(tmp_path / "x.png")
    options = ImageOptions(mean=(103, 116, 123), std=(2, 4, 8), scale=1, bgr=True)
    (x,) = read(tmp_path / "x.png", (1, 4, 6, 3), image=options)
    assert np.allclose(x[0], (pixels[..., ::-1] - [103.0, 116, 123]) / [2, 4, 8])


@pytest.mark.parametrize(("dtype", "mean"), [(np.uint8, 0), (np.int8, 128)])
def test_integer_inputs_take_whole_pixels(tmp_path, dtype, mean):
    pixels = picture(tmp_path / "x.png")
    (x,) = read(tmp_path / "x.png", (1, 4, 6, 3), dtype, ImageOptions(mean=(mean,)))
    assert x.dtype == dtype
    assert np.array_equal(x[0].astype(int), pixels.astype(int) - mean)


def test_pixels_beyond_an_integer_input_are_an_error(tmp_path):
    picture(tmp_path / "x.png")
    assert "no whole numbers in its range" in error_of(tmp_path / "x.png", (1, 4, 6, 3), np.int8)


@pytest.mark.parametrize("shape", [(1, 1, 4, 6), (1, 4, 6, 1), (1, 4, 6)])
def test_grey_inputs_take_grey_pictures(tmp_path, shape):
    Image.fromarray(np.arange(24, dtype=np.uint8).reshape(4, 6)).save(tmp_path / "x.png")
    (x,) = read(tmp_path / "x.png", shape, image=ImageOptions(scale=1))
    assert x.shape == shape and np.array_equal(x.ravel(), np.arange(24))


def test_sixteen_bit_pictures_are_scaled_not_clipped(tmp_path):
    Image.fromarray((np.arange(24, dtype=np.uint16) * 2560).reshape(4, 6)).save(tmp_path / "x.png")
    (x,) = read(tmp_path / "x.png", (1, 1, 4, 6), image=ImageOptions(scale=1))
    assert np.array_equal(x.ravel(), np.arange(24) * 10)


def test_pictures_are_resized_to_the_input_and_cropped_in_the_middle(tmp_path):
    x = np.zeros((20, 40, 3), np.uint8)
    x[:, 20:] = 255
    Image.fromarray(x).save(tmp_path / "x.png")
    (whole,) = read(tmp_path / "x.png", (1, 3, 10, 10))
    assert (whole[0, :, :, :4] == 0).all() and (whole[0, :, :, 6:] == 1).all()
    (middle,) = read(tmp_path / "x.png", (1, 3, 10, 10), image=ImageOptions(resize=(20, 40)))
    assert np.array_equal(middle[0, 0], x[5:15, 15:25, 0] / 255)
    message = error_of(tmp_path / "x.png", (1, 3, 10, 10), image=ImageOptions(resize=(8, 40)))
    assert "resize to at least the input's size" in message


@pytest.mark.parametrize("resize", [None, (23, 31)])
@pytest.mark.parametrize("fit", ["squash", "crop", "letterbox"])
def test_a_picture_is_fitted_as_pillow_would(tmp_path, fit, resize):
    """Within one step: Pillow's weights have 22 bits, ours are exact."""
    out, canvas = (20, 28), resize or (20, 28)
    rng = np.random.default_rng(0)
    for height, width in ((7, 90), (90, 7), (40, 56), (11, 13), (200, 150), (1, 1)):
        x = Image.fromarray(rng.integers(0, 256, (height, width, 3)).astype(np.uint8))
        x.save(tmp_path / "x.png")
        ratios = canvas[0] / height, canvas[1] / width
        ratio = max(ratios) if fit == "crop" else min(ratios)
        scaled = [int(ratio * n + 1e-9) if fit == "crop" else max(1, int(ratio * n + 0.5))
                  for n in (height, width)]  # fmt: skip
        scaled = list(canvas) if fit == "squash" else scaled
        x = x.resize(scaled[::-1], Image.Resampling.BILINEAR)
        whole = Image.new("RGB", canvas[::-1], (114,) * 3)
        whole.paste(x, tuple(int((canvas[i] - scaled[i]) / 2) for i in (1, 0)))
        top, left = (canvas[0] - out[0]) // 2, (canvas[1] - out[1]) // 2
        want = np.asarray(whole).astype(int)[top : top + out[0], left : left + out[1]]
        image = ImageOptions(scale=1, resize=resize, fit=fit, fill=114)
        (got,) = read(tmp_path / "x.png", (1, *out, 3), image=image)
        assert np.abs(got[0] - want).max() <= 1, (height, width)


def test_pictures_are_turned_upright(tmp_path):
    exif = Image.Exif()
    exif[0x0112] = 6  # to be turned by 90 degrees
    Image.new("RGB", (6, 4)).save(tmp_path / "x.jpg", exif=exif)
    assert read(tmp_path / "x.jpg", (1, 3, 6, 4))[0].shape == (1, 3, 6, 4)


def test_a_truncated_picture_is_an_error(tmp_path):
    path = tmp_path / "x.png"
    picture(path, 40, 60)
    path.write_bytes(path.read_bytes()[:2000])
    assert "cannot be read as a picture" in error_of(path, (1, 3, 40, 60))


@pytest.mark.parametrize(
    ("shape", "layout"), [((1, 5, 6, 3), "nchw"), ((1, 640), "auto"), ((1, 8, 8, 8), "auto")]
)
def test_an_input_that_is_no_picture_is_an_error(tmp_path, shape, layout):
    picture(tmp_path / "x.png")
    message = error_of(tmp_path / "x.png", shape, image=ImageOptions(layout=layout))
    assert f"has the shape {shape}, which is not an image shape" in message


def test_a_mean_in_other_units_is_an_error(tmp_path):
    picture(tmp_path / "x.png")
    message = error_of(tmp_path / "x.png", (1, 4, 6, 3), image=ImageOptions(mean=(127.5,)))
    assert "mean (127.5,) exceeds all pixel values" in message and "use scale 1" in message


def test_a_mean_for_other_channels_is_an_error(tmp_path):
    picture(tmp_path / "x.png")
    message = error_of(tmp_path / "x.png", (1, 4, 6, 3), image=ImageOptions(mean=(0.1, 0.2)))
    assert "has 3 channels and mean has 2 values (0.1, 0.2); give 1 or 3" in message


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"layout": "chw"}, "layout 'chw' is not one of auto, nchw, nhwc"),
        ({"std": (1, 0, 1)}, "must not be 0"),
        ({"scale": 0.0}, "must not be 0"),
        ({"mean": (float("nan"),)}, "must be finite"),
        ({"resize": (0, 4)}, "height and width of 1 to 32767"),
        ({"resize": (9, 40000)}, "height and width of 1 to 32767"),
        ({"fit": "stretch"}, "not one of squash, crop, letterbox"),
        ({"fill": 256}, "not a pixel value"),
    ],
)
def test_impossible_image_options_are_refused(options, message):
    with pytest.raises(CalibrationError, match=message):
        ImageOptions(**options)

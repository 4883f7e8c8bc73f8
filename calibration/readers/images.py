""".png and .jpg: one sample a file, resized and scaled as `ImageOptions` says."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import CalibrationError
from ..resizing import fitted
from ..specs import ImageOptions, InputSpec
from .reader import Kind, Raw, Request, check_file, optional_module, readable

_MODES = {1: "L", 3: "RGB", 4: "RGBA"}


def _read(path: Path, request: Request) -> Iterator[Raw]:
    spec, options = request.only, request.image
    channels, height, width, first = options.geometry(spec)
    pixels = _pixels(path, _MODES[channels])
    pixels = pixels.reshape(*pixels.shape[:2], channels)
    try:
        pixels = fitted(pixels, (height, width), options.fitting)
    except CalibrationError as why:
        raise CalibrationError(f"input '{spec.name}': {why}") from why
    if options.bgr and channels >= 3:
        pixels = pixels[..., [2, 1, 0, *range(3, channels)]]
    values = scale_pixels(pixels, spec, options)
    values = values.transpose(2, 0, 1) if first else values
    yield str(path), {spec.name: values.reshape(spec.sample)}


def _pixels(path: Path, mode: str) -> NDArray[np.uint8]:
    """The picture as uint8 [height, width] or [height, width, channels], upright."""
    image_module = optional_module("PIL.Image", "pillow", str(path))
    transpose = optional_module("PIL.ImageOps", "pillow", str(path)).exif_transpose
    check_file(path, "a picture")
    with readable(str(path), "a picture"):
        with image_module.open(path) as file:
            image = transpose(file)
        if image.mode.startswith("I"):
            # 16 bits a pixel: convert() would clip at 255, not scale.
            image = image_module.fromarray((np.asarray(image) >> 8).astype(np.uint8))
        image = image.convert(mode)
    return np.asarray(image, np.uint8)


def scale_pixels(pixels: NDArray[Any], spec: InputSpec, options: ImageOptions) -> NDArray[Any]:
    """Pixels uint8 [height, width, channels], in the model's order of channels, as its values.

    Raises CalibrationError for a mean or std of another number of channels.
    """
    channels = pixels.shape[-1]
    for name, value in (("mean", options.mean), ("std", options.std)):
        if len(value) not in (1, channels):
            raise CalibrationError(
                f"input '{spec.name}' has {channels} channels and {name} has {len(value)} "
                f"values {value}; give 1 or {channels}"
            )
    values = (pixels * options.scale_for(spec) - np.array(options.mean)) / np.array(options.std)
    # The rounding makes whole pixels of what 255 * (1 / 255) and its like leave just beside them.
    result: NDArray[Any] = values.astype(np.float32) if spec.dtype.kind == "f" else np.rint(values)
    return result


def _count(path: Path, request: Request) -> int:
    return 1


IMAGE = Kind("image", (".png", ".jpg", ".jpeg"), _read, _count)

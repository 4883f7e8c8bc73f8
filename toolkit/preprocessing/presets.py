"""Names for what networks commonly expect of pixels."""

from __future__ import annotations

from ...calibration import ImageOptions
from ..errors import UserError

PRESETS = {
    "0..1": ImageOptions(scale=1 / 255),
    "-1..1": ImageOptions(mean=(1.0,), scale=2 / 255),
    "0..255": ImageOptions(scale=1.0),
    "imagenet": ImageOptions((0.485, 0.456, 0.406), (0.229, 0.224, 0.225), 1 / 255),
    "caffe": ImageOptions((103.939, 116.779, 123.68), scale=1.0, bgr=True),
}
"""By name: pixels of 0 to 255 to the range named; "imagenet" as torchvision trains on, "caffe" with
blue first and means in pixels, as Keras calls it for ResNet-50 and VGG."""


def preset(name: str) -> ImageOptions:
    """The options of a preset. Raises UserError for a name that is none."""
    if name not in PRESETS:
        raise UserError(f"no preset '{name}' of pixels; there are: {', '.join(PRESETS)}")
    return PRESETS[name]

"""Files of samples, written and read."""

import numpy as np
import pytest
from PIL import Image

from edgekit.calibration import (
    CalibrationError,
    InputSpec,
    open_samples,
)


def read(path, shape, dtype=np.float32, image=None):
    return [f["x"] for f in open_samples(path, [InputSpec("x", shape, dtype)], image)]


def error_of(path, shape, dtype=np.float32, image=None):
    with pytest.raises(CalibrationError) as caught:
        read(path, shape, dtype, image)
    return str(caught.value)


def picture(path, height=4, width=6, mode="RGB"):
    pixels = np.random.default_rng(1).integers(0, 256, (height, width, 3), np.uint8)
    Image.fromarray(pixels).convert(mode).save(path)
    return pixels

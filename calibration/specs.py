"""What a model takes, and how pictures become it."""

import math
from dataclasses import dataclass
from operator import contains
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from .errors import CalibrationError

_CHANNELS = (1, 3, 4)
FITS = ("squash", "crop", "letterbox")
MOST_SIDE = 32767
"""Of what pictures are resized to."""


@dataclass(frozen=True)
class InputSpec:
    """One model input: its whole static shape, batch included, and its type.

    `missing`: NaN is legal, for a value that is missing. `sizes`: of an input whose dimensions
    vary, those of each axis, of which `shape` has the largest. `texts`: of an input of strings,
    those that the model tells apart; samples hold strings, or their numbers. `option`: what the
    user may give instead of samples of it.
    """

    name: str
    shape: tuple[int, ...]
    dtype: np.dtype
    missing: bool = False
    sizes: tuple[range, ...] = ()
    texts: tuple[str, ...] = ()
    option: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "dtype", np.dtype(self.dtype))
        object.__setattr__(self, "shape", tuple(int(n) for n in self.shape))
        if any(n < 1 for n in self.shape):
            raise ValueError(f"input '{self.name}' has the shape {self.shape}; it must be static")

    @property
    def batch(self) -> int:
        """The length of the first axis, 1 for a scalar, and where it varies."""
        return self.shape[0] if self.shape and len(self.sizes[0] if self.sizes else ()) < 2 else 1

    @property
    def sample(self) -> tuple[int, ...]:
        """The shape without its first axis."""
        return self.shape[1:]

    @property
    def text(self) -> str:
        """The shape, with all sizes of dimensions that vary."""
        if not self.sizes:
            return str(self.shape)
        steps = (f":{r.step}" if r.step > 1 else "" for r in self.sizes)
        each = (f"{r[0]}..{r[-1]}{s}" if len(r) > 1 else str(r[0])
                for r, s in zip(self.sizes, steps, strict=True))  # fmt: skip
        return f"({', '.join(each)})"

    def takes(self, shape: tuple[int, ...]) -> bool:
        """Whether that is the input's shape, or one of its."""
        return shape == self.shape or self._within(shape, self.sizes)

    def takes_sample(self, shape: tuple[int, ...]) -> bool:
        """The same without the first axis."""
        return shape == self.sample or self._within(shape, self.sizes[1:])

    @staticmethod
    def _within(shape: tuple[int, ...], sizes: tuple[range, ...]) -> bool:
        return len(shape) == len(sizes) > 0 and all(map(contains, sizes, shape))


@dataclass(frozen=True)
class Fit:
    """How a picture of any size is made one of the input's: resized to `canvas` (height, width;
    None: the input's size), of which the middle is cut out.

    `how`: "squash" changes the aspect ratio; "crop" keeps it and cuts what is beyond the canvas;
    "letterbox" keeps it and surrounds the picture with pixels of value `fill`.

    Raises CalibrationError for values that cannot be meant.
    """

    how: Literal["squash", "crop", "letterbox"] = "squash"
    fill: int = 0
    canvas: tuple[int, int] | None = None

    def __post_init__(self) -> None:
        if self.how not in FITS:
            raise CalibrationError(f"fit '{self.how}' is not one of {', '.join(FITS)}")
        if not 0 <= self.fill <= 255:
            raise CalibrationError(f"fill {self.fill} is not a pixel value (0 to 255)")
        if self.canvas is not None and not all(0 < n <= MOST_SIDE for n in self.canvas):
            raise CalibrationError(
                f"resize {self.canvas} must be a height and width of 1 to {MOST_SIDE}"
            )


@dataclass(frozen=True)
class ImageOptions:
    """How a picture becomes an input: x = (pixel * scale - mean) / std, pixel being 0 to 255.

    Attributes:
        mean, std: one number, or one a channel in the order of the model's channels (so B, G, R
            with `bgr`); in the units of pixel * scale, so 0 to 1 with the usual scale of 1/255.
        scale: None is 1/255 for a float input, and 1 for an integer one.
        resize, fit, fill: `canvas`, `how` and `fill` of `Fit`.
        layout: where the input has its channels; "auto" finds the axis of length 1 or 3, else 4.
        bgr: the model takes blue first.

    Raises CalibrationError for values that cannot be meant.
    """

    mean: tuple[float, ...] = (0.0,)
    std: tuple[float, ...] = (1.0,)
    scale: float | None = None
    resize: tuple[int, int] | None = None
    layout: Literal["auto", "nchw", "nhwc"] = "auto"
    bgr: bool = False
    fit: Literal["squash", "crop", "letterbox"] = "squash"
    fill: int = 0

    def __post_init__(self) -> None:
        if self.layout not in ("auto", "nchw", "nhwc"):
            raise CalibrationError(f"layout '{self.layout}' is not one of auto, nchw, nhwc")
        if not all(map(math.isfinite, (*self.mean, *self.std, self.scale or 1.0))):
            raise CalibrationError(f"mean, std and scale must be finite numbers: {self}")
        if not all(self.std) or self.scale == 0:
            raise CalibrationError(f"std {self.std} and scale {self.scale} must not be 0")
        _ = self.fitting

    @property
    def fitting(self) -> Fit:
        """How pictures of other sizes are made the input's."""
        return Fit(self.fit, self.fill, self.resize)

    def scale_for(self, spec: InputSpec) -> float:
        """The factor of this input's pixels; raises CalibrationError if the mean is beyond it."""
        scale = self.scale
        if scale is None:
            scale = 1 / 255 if spec.dtype.kind == "f" else 1.0
        if max(map(abs, self.mean)) > 255 * abs(scale) * (1 + 1e-9):
            raise CalibrationError(
                f"input '{spec.name}': mean {self.mean} exceeds all pixel values (0 to "
                f"{255 * scale:g} at scale {scale:g}); for a mean in 0 to 255 use scale 1, "
                "otherwise divide mean and std by 255"
            )
        return scale

    def geometry(self, spec: InputSpec) -> tuple[int, int, int, bool]:
        """The (channels, height, width, channels first?) of an image input.

        Raises CalibrationError if the input's shape is not that of images.
        """
        shape = spec.shape
        if len(shape) == 3:
            return 1, shape[1], shape[2], True
        if len(shape) == 4:
            # "auto": 1 and 3 are likelier channels than 4; at equal chances it is ONNX's NCHW.
            likely = next((c for c in ((1, 3), (4,)) if {shape[1], shape[3]} & set(c)), ())
            first = self.layout == "nchw" or (self.layout == "auto" and shape[1] in likely)
            channels, height, width = shape[1:] if first else (shape[3], *shape[1:3])
            if channels in _CHANNELS:
                return channels, height, width, first
        raise CalibrationError(
            f"input '{spec.name}' has the shape {shape}, which is not an image shape in layout "
            f"'{self.layout}' (N, C, H, W or N, H, W, C with 1, 3 or 4 channels, or N, H, W); "
            "choose another layout, or preprocess the samples and save them as .npy"
        )


class Sound(Protocol):
    """How a sound becomes an input: mono int16 at `rate` a second, then `values` of that."""

    @property
    def rate(self) -> int: ...

    def samples(self, spec: InputSpec) -> int:
        """How many samples an input is made of. Raises CalibrationError if it is not of sound."""

    def values(self, pcm: NDArray[np.int16], spec: InputSpec) -> NDArray[Any]:
        """float32 of the spec's sample shape of int16 [samples]."""

"""What a file says of its inputs: kept with its provenance, so that every command applies it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

import numpy as np

from ...calibration import (
    CalibrationError,
    ImageOptions,
    InputSpec,
    Samples,
    find_labels,
    fitted,
    load_labels,
    scale_pixels,
)
from ..errors import UserError
from ..format.model import Provenance
from ..ir import Array
from .pixels import Pixels, to_channels
from .sound import FrontEnd, SoundPreprocessing, SoundReader, fitting

KEY, CLASSES = "preprocessing", "classes"
"""Of the options in a file's provenance."""


@dataclass(frozen=True)
class Preprocessing:
    """How an input is made of a picture: x = (pixel * scale - mean) / std, pixel being 0 to 255.

    `channels` are gray, RGB or RGBA, B and R exchanged with `bgr`; `first`: they are the axis
    before height and width. `mean` and `std` are one number or one a channel. `resize`, `fit` and
    `fill` say how pictures of other sizes are made one of this (`Fit`).
    """

    height: int
    width: int
    channels: int
    first: bool
    scale: float
    mean: tuple[float, ...] = (0.0,)
    std: tuple[float, ...] = (1.0,)
    bgr: bool = False
    resize: tuple[int, int] | None = None
    fit: Literal["squash", "crop", "letterbox"] = "squash"
    fill: int = 0

    @classmethod
    def of(cls, image: ImageOptions, spec: InputSpec) -> Preprocessing:
        """What these options mean for an input. Raises CalibrationError if they do not fit it."""
        channels, height, width, first = image.geometry(spec)
        scale_pixels(np.zeros((1, 1, channels), np.uint8), spec, image)
        scale = image.scale_for(spec)
        return cls(
            height, width, channels, first, scale, image.mean, image.std, image.bgr, image.resize,
            image.fit, image.fill,
        )  # fmt: skip

    @classmethod
    def from_json(cls, found: Any) -> Preprocessing:
        """Raises ValueError for what `to_json` does not give."""
        try:
            mean, std = (tuple(float(v) for v in found[k]) for k in ("mean", "std"))
            height, width, channels = (int(found[k]) for k in ("height", "width", "channels"))
            first, bgr, scale = bool(found["first"]), bool(found["bgr"]), float(found["scale"])
            size = [int(n) for n in found["resize"] or ()]
            resize = (size[0], size[1]) if size else None
            fit, fill = found.get("fit", "squash"), int(found.get("fill", 0))
            made = cls(height, width, channels, first, scale, mean, std, bgr, resize, fit, fill)
            _ = made.image
        except (LookupError, TypeError, ValueError, OverflowError, CalibrationError) as why:
            raise ValueError(f"the record of preprocessing is damaged ({why})") from why
        lengths = {len(made.mean), len(made.std)} <= {1, made.channels}
        sane = min(made.height, made.width) > 0 and made.channels in (1, 3, 4)
        if not (lengths and sane and math.isfinite(made.scale)):
            raise ValueError("the record of preprocessing is damaged")
        return made

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @property
    def image(self) -> ImageOptions:
        """The options that mean it."""
        layout: Literal["nchw", "nhwc"] = "nchw" if self.first else "nhwc"
        return ImageOptions(
            self.mean, self.std, self.scale, self.resize, layout, self.bgr, self.fit, self.fill
        )

    def values(self, pixels: Pixels) -> Array:
        """float32 [1, C, H, W] or [1, H, W, C] of uint8 [H, W, channels], the channels in order."""
        shape = (1, self.height, self.width, self.channels)
        spec = InputSpec("input", shape, np.dtype(np.float32))
        made = scale_pixels(pixels, spec, self.image)
        return (made.transpose(2, 0, 1) if self.first else made)[None].astype(np.float32)

    @property
    def words(self) -> str:
        return described(self)

    def takes(self, array: Array, held: Any) -> bool:
        """Whether these are pixels, of an input whose elements are `held`."""
        return bool(array.dtype == np.uint8)

    def of_raw(self, rgb: Array, name: str) -> Array:
        """What the input takes for uint8 [h, w, 3], [h, w, 1] or [h, w] (gray), or N of them.

        Those of the input's height and width are taken as they are, others are resized. Raises
        UserError for another shape.
        """
        size = self.height, self.width
        gray = rgb.ndim == 2 or (rgb.ndim == 3 and rgb.shape[-2:] == size)
        rgb = rgb[..., None] if gray else rgb
        if rgb.ndim not in (3, 4) or rgb.shape[-1] not in (1, 3) or not rgb.size:
            raise UserError(
                f"input '{name}': pixels of shape {list(rgb.shape)}; give uint8 [{self.height}, "
                f"{self.width}, 3] (RGB) or [{self.height}, {self.width}] (gray), one image or "
                "several, or images of other sizes"
            )
        full = rgb if rgb.shape[-1] == 3 else np.repeat(rgb, 3, axis=-1)
        images = full.reshape(-1, *full.shape[-3:])
        made = [self.of_picture(to_channels(p, self.channels, self.bgr)) for p in images]
        return np.concatenate(made)

    def of_picture(self, pixels: Pixels) -> Array:
        """As `values`, of pictures that may have another height and width."""
        size = self.height, self.width
        same = pixels.shape[:2] == size
        return self.values(pixels if same else fitted(pixels, size, self.image.fitting))


Record = Preprocessing | SoundPreprocessing
"""How an input is made: of pixels or of sound."""
Reading = ImageOptions | SoundReader
"""How files of samples become inputs."""


def recorded(settings: Mapping[str, Any]) -> dict[str, Record]:
    """By input, what the options of a file's provenance say. Raises ValueError if damaged."""
    found = settings.get(KEY, {})
    if not isinstance(found, dict):
        raise ValueError("the record of preprocessing is damaged")
    return {str(name): _of_json(one) for name, one in found.items()}


def _of_json(one: Any) -> Record:
    sound = isinstance(one, dict) and "sound" in one
    return SoundPreprocessing.from_json(one) if sound else Preprocessing.from_json(one)


def class_names(settings: Mapping[str, Any]) -> tuple[str, ...]:
    """Names of the classes that the last axis of the output stands for; none if unknown."""
    found = settings.get(CLASSES, [])
    return tuple(map(str, found)) if isinstance(found, list) else ()


def as_options(made: Mapping[str, Record], classes: Sequence[str] = ()) -> dict[str, Any]:
    """What provenance says of them; nothing of nothing."""
    found: dict[str, Any] = {}
    if made:
        found[KEY] = {name: one.to_json() for name, one in made.items()}
    if classes:
        found[CLASSES] = list(classes)
    return found


def options_of(
    samples: Samples,
    outputs: Sequence[tuple[int, ...]],
    given: Reading | None,
) -> dict[str, Any]:
    """What provenance says of a model with outputs of these shapes, calibrated with `samples`.

    Inputs that are read from pictures, and where options were `given`, those that could be; or
    those that `sound` fits. Classes are those of labels that have names, if they are as many as the
    one output has columns. Raises CalibrationError for options that fit no input.
    """
    sound = given.front if isinstance(given, SoundReader) else None
    image = given if isinstance(given, ImageOptions) else ImageOptions()
    pictures = samples.pictures
    if not pictures and image != ImageOptions():
        pictures = [spec for spec in samples.request.specs if _takes_pictures(image, spec)]
    names = _classes(samples) if len(outputs) == 1 else ()
    classes = names if names and outputs[0][-1:] == (len(names),) else ()
    if sound is not None:
        return as_options(fitting(sound, samples.request.specs), classes)
    return as_options({s.name: Preprocessing.of(image, s) for s in pictures}, classes)


def _takes_pictures(image: ImageOptions, spec: InputSpec) -> bool:
    try:
        image.geometry(spec)
    except CalibrationError:
        return False
    return spec.batch == 1


def _classes(samples: Samples) -> tuple[str, ...]:
    try:
        key = find_labels(samples)
        return () if key is None else load_labels(samples, key).names
    except CalibrationError:
        return ()


def preprocessing_of(provenance: Provenance, source: str) -> dict[str, Record]:
    """By input, what a file says. Raises UserError if that is damaged."""
    try:
        return recorded(provenance.settings)
    except ValueError as why:
        raise UserError(f"{source}: {why}; quantize the model again") from why


def agreed(
    made: Mapping[str, Record],
    given: ImageOptions | None,
    source: str,
    sound: FrontEnd | None = None,
) -> Reading:
    """How samples become inputs: as the file says. Raises UserError if other options are given."""
    sounds = {name: one for name, one in made.items() if isinstance(one, SoundPreprocessing)}
    for name, heard in sounds.items():
        given_image = given is not None and given != ImageOptions()
        if given_image or (sound is not None and sound != heard.front):
            told = (
                "the options given are of images" if given_image or sound is None else sound.words
            )
            raise UserError(
                f"{source}: was quantized for '{name}' as {heard.words}; {told} contradicts that: "
                "leave --preprocess out, or quantize the model again with it"
            )
        return SoundReader(heard.front)
    if sound is not None and made:
        name, one = next(iter(made.items()))
        raise UserError(
            f"{source}: was quantized for '{name}' as {one.words}, which sound contradicts: leave "
            "--preprocess out, or quantize the model again with it"
        )
    if sound is not None:
        return SoundReader(sound)
    return _agreed_image(
        {n: p for n, p in made.items() if isinstance(p, Preprocessing)}, given, source
    )


def _agreed_image(
    made: Mapping[str, Preprocessing], given: ImageOptions | None, source: str
) -> ImageOptions:
    given = given or ImageOptions()
    if not made:
        return given
    name, one = next(iter(made.items()))
    usual, mine = ImageOptions(), one.image
    for field in ("scale", "mean", "std", "bgr", "layout", "resize", "fit", "fill"):
        asked, known = getattr(given, field), getattr(mine, field)
        if asked != getattr(usual, field) and not _same(asked, known):
            raise UserError(
                f"{source}: was quantized for '{name}' as {described(one)}; {field} {asked} "
                "contradicts that: leave it out, or quantize the model again with it"
            )
    return replace(mine, layout="auto") if len(made) > 1 else mine


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, float) and isinstance(b, float):
        return math.isclose(a, b, rel_tol=1e-6)
    if isinstance(a, tuple) and isinstance(b, tuple):
        return len(a) == len(b) and all(_same(x, y) for x, y in zip(a, b, strict=True))
    return bool(a == b)


def described(one: Preprocessing) -> str:
    """In words: "RGB 96x96, (pixel * 0.00392157 - 0.5) / 0.25"."""

    def numbers(values: tuple[float, ...]) -> str:
        words = ", ".join(f"{v:g}" for v in values)
        return words if len(values) == 1 else f"[{words}]"

    order = {1: "gray", 3: "BGR" if one.bgr else "RGB", 4: "BGRA" if one.bgr else "RGBA"}
    text = "pixel" if one.scale == 1 else f"pixel * {one.scale:g}"
    if any(one.mean):
        text += f" - {numbers(one.mean)}"
    if set(one.std) != {1.0}:
        text = f"({text}) / {numbers(one.std)}"
    fit = "" if one.fit == "squash" else f", {one.fit}"
    return f"{order[one.channels]} {one.height}x{one.width}{fit}, {text}"

"""The values of options: what is written on the command line, and what it means."""

from __future__ import annotations

from typing import Any, TypeVar

import click

from ...calibration import FITS, ImageOptions
from ..dynamic import Range
from ..errors import UserError
from ..preprocessing import PRESETS, SOUND_PRESETS, FrontEnd, front_end, preset
from ..quantize import parse_drop

T = TypeVar("T")


def pair(text: str, form: str, *, of_tensor: bool = False) -> tuple[str, str]:
    """Both sides of NAME=VALUE, of which `form` is an example. The name of a tensor may hold an
    equals sign, as the value of anything else may.

    Raises click.BadParameter where one of the sides, or the equals sign, is missing.
    """
    name, equals, value = text.rpartition("=") if of_tensor else text.partition("=")
    if not (name and equals and value):
        raise click.BadParameter(f"'{text}': write it as {form}")
    return name, value


def sizes(text: str) -> int | Range:
    """49, 1..128 or 32..640:32. Raises ValueError."""
    low, dots, rest = text.partition("..")
    if not dots:
        if int(text) < 1:
            raise ValueError(text)
        return int(text)
    high, colon, step = rest.partition(":")
    found = Range(int(low), int(high), int(step) if colon else 1)
    if min(found.lowest, found.step, found.highest - found.lowest + 1) < 1:
        raise ValueError(text)
    return found


def numbers(text: str) -> tuple[float, ...]:
    """16000 or 0,0,1. Raises ValueError."""
    return tuple(float(v) for v in text.split(","))


class Written(click.ParamType[T]):
    """A value whose form is shown as its `name` has it; click would show it in upper case."""

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str:
        return self.name


class OfTensor(Written[tuple[str, T]]):
    """NAME=VALUE of a tensor of that name; `form` is an example."""

    form: str

    def read(self, text: str) -> T:
        """The value. Raises ValueError."""
        raise NotImplementedError

    def convert(self, value: Any, param: Any, ctx: Any) -> tuple[str, T]:
        if isinstance(value, tuple):
            return value
        name, text = pair(value, self.form, of_tensor=True)
        try:
            return name, self.read(text)
        except ValueError:
            self.fail(f"'{value}': write it as {self.form}", param, ctx)


class SizesOption(OfTensor[tuple[int | Range, ...]]):
    """NAME=1..128,49"""

    name = "NAME=N,N..M,..."
    form = "NAME=1,3,224,224, or NAME=1..128,49 for a size from 1 to 128, or 32..640:32 by steps"

    def read(self, text: str) -> tuple[int | Range, ...]:
        return tuple(sizes(d) for d in text.split(","))


class DimOption(OfTensor[int | Range]):
    """seq=1..128"""

    name = "NAME=N[..M[:STEP]]"
    form = "seq=128, seq=1..128, or width=32..640:32 by steps"

    def read(self, text: str) -> int | Range:
        return sizes(text)


class ConstantOption(OfTensor[tuple[float, ...]]):
    """NAME=16000 or NAME=0,0,1"""

    name = "NAME=N[,N...]"
    form = "NAME=16000, or NAME=0,0,1"

    def read(self, text: str) -> tuple[float, ...]:
        return numbers(text)


class NumbersOption(Written[tuple[float, ...]]):
    """0.5 or 0.485,0.456,0.406"""

    name = "N[,N...]"

    def convert(self, value: Any, param: Any, ctx: Any) -> tuple[float, ...]:
        if isinstance(value, tuple):
            return value
        try:
            return numbers(value)
        except ValueError:
            text = "write one number, or one per channel, as 0.485,0.456,0.406"
            self.fail(f"'{value}': {text}", param, ctx)


class PreprocessOption(Written[ImageOptions | FrontEnd]):
    """A preset of pictures, or one of sounds with parameters."""

    name = "|".join((*PRESETS, *SOUND_PRESETS)) + "[:KEY=VALUE,...]"

    def convert(self, value: Any, param: Any, ctx: Any) -> ImageOptions | FrontEnd:
        if isinstance(value, ImageOptions | FrontEnd):
            return value
        if value in PRESETS:
            return preset(value)
        if value.partition(":")[0] in SOUND_PRESETS:
            return front_end(value)
        known = ", ".join((*PRESETS, *SOUND_PRESETS))
        self.fail(f"no preset '{value.partition(':')[0]}'; there are: {known}", param, ctx)


class FitOption(Written[tuple[Any, int]]):
    """squash, crop, letterbox or letterbox:114"""

    name = "squash|crop|letterbox[:FILL]"

    def convert(self, value: Any, param: Any, ctx: Any) -> tuple[Any, int]:
        if isinstance(value, tuple):
            return value
        how, colon, fill = value.partition(":")
        known = how in FITS and (not colon or (how == "letterbox" and fill.isdecimal()))
        if not known or int(fill or 0) > 255:
            text = "write squash, crop, letterbox, or letterbox:114 with a pixel's value, 0 to 255"
            self.fail(f"'{value}': {text}", param, ctx)
        return how, int(fill or 0)


class SizeOption(Written[tuple[int, int]]):
    """HxW"""

    name = "HxW"

    def convert(self, value: Any, param: Any, ctx: Any) -> tuple[int, int]:
        if isinstance(value, tuple):
            return value
        parts = value.lower().split("x")
        if len(parts) != 2 or not all(p.isdigit() and int(p) > 0 for p in parts):
            self.fail(f"'{value}': write it as 224x224 (height x width)", param, ctx)
        return int(parts[0]), int(parts[1])


class BytesOption(Written[int]):
    """60000, 64K, 1.5M or 2G"""

    name = "BYTES"

    def convert(self, value: Any, param: Any, ctx: Any) -> int:
        if isinstance(value, int):
            return value
        text = value.upper().removesuffix("B").removesuffix("I")
        unit = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}.get(text[-1:], 1)
        try:
            count = int(float(text[:-1] if unit > 1 else text) * unit)
        except (ValueError, OverflowError):
            count = 0
        if count < 1:
            self.fail(f"'{value}': write bytes as 60000, 64K, 1.5M or 2G", param, ctx)
        return count


class UnitOption(Written[float]):
    """A number that may carry its unit: 0.5%, 30dB."""

    def __init__(self, unit: str, low: float, high: float) -> None:
        self.unit, self.low, self.high = unit, low, high
        self.name = f"N{unit}"

    def convert(self, value: Any, param: Any, ctx: Any) -> float:
        if isinstance(value, float):
            return value
        try:
            number = float(value.lower().removesuffix(self.unit.lower()))
        except ValueError:
            number = float("nan")
        if not self.low <= number <= self.high:
            text = f"write it as 0.5{self.unit}, from {self.low:g} to {self.high:g}"
            self.fail(f"'{value}': {text}", param, ctx)
        return number


class DropOption(Written[float | str]):
    """0.5% or, in the metric's own unit, 0.5."""

    name = "N[%]"

    def convert(self, value: Any, param: Any, ctx: Any) -> float | str:
        try:
            number, percent = parse_drop(value)
        except UserError as why:
            self.fail(str(why), param, ctx)
        return f"{number!r}%" if percent else number

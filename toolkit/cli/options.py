"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import wraps
from pathlib import Path
from typing import Any, Literal, TypeVar

import click

from ...calibration import ImageOptions
from ..preprocessing import FrontEnd
from ..runtime import MAX_MEMORY
from .values import (
    BytesOption,
    FitOption,
    NumbersOption,
    PreprocessOption,
    SizeOption,
    pair,
)

F = TypeVar("F", bound=Callable[..., Any])


def model_argument(f: F) -> F:
    return click.argument("model", type=click.Path(path_type=Path), metavar="MODEL.onnx")(f)


def edge_argument(f: F) -> F:
    return click.argument("model", type=click.Path(path_type=Path), metavar="MODEL.edge")(f)


def op_option(f: Callable[..., Any]) -> Callable[..., Any]:
    """Operators of the user's, which are registered before the command begins."""

    @wraps(f)
    def command(*, operators: tuple[Path, ...], **others: Any) -> Any:
        if operators:
            from ..custom_operators import register_op  # takes compilers and templates of firmware

            for path in operators:
                register_op(path)
        return f(**others)

    return click.option(
        "--op",
        "operators",
        type=click.Path(path_type=Path),
        multiple=True,
        metavar="FILE.py|FILE.c",
        help="Custom operator, in Python or C (docs/custom-operators.md). The file is executed "
        "on this machine. Repeatable.",
    )(command)


def json_option(f: F) -> F:
    return click.option(
        "--json", "as_json", is_flag=True, help="Print the result as JSON to stdout."
    )(f)


def memory_option(f: F) -> F:
    return click.option(
        "--max-memory",
        type=BytesOption(),
        default=MAX_MEMORY,
        help="Maximum memory on this machine for activations and packed weights, e.g. 512M. "
        f"[default: {MAX_MEMORY >> 30}G]",
    )(f)


def device_option(f: F) -> F:
    return click.option(
        "--cpu",
        "--device",
        "cpu",
        help="CPU model of the emulator, or device of the accelerator. [default: the best one]",
    )(f)


def settings_option(f: F) -> F:
    def by_name(_: Any, __: Any, given: tuple[str, ...]) -> dict[str, str]:
        return dict(pair(text, "KEY=VALUE") for text in given)

    return click.option(
        "--set",
        "settings",
        multiple=True,
        metavar="KEY=VALUE",
        callback=by_name,
        help="Target setting; `edgekit targets` lists them. Repeatable.",
    )(f)


def target_options(f: F) -> F:
    return click.option(
        "--target",
        metavar="TARGET",
        help="Run on the emulator or accelerator of this target (`edgekit targets`).",
    )(device_option(settings_option(f)))


def _numbers_of(image: ImageOptions) -> dict[str, Any]:
    """What a preset says."""
    return {name: getattr(image, name) for name in ("mean", "std", "scale", "bgr")}


def image_options(f: Callable[..., Any]) -> Callable[..., Any]:
    """What happens to a picture: x = (pixel * scale - mean) / std, pixels in 0..255; or to a sound.

    The command gets them as two arguments, `image` and `sound`.
    """

    @wraps(f)
    def command(
        *,
        preprocess: ImageOptions | FrontEnd | None,
        scale: float | None,
        mean: tuple[float, ...],
        std: tuple[float, ...],
        resize: tuple[int, int] | None,
        fit: tuple[Literal["squash", "crop", "letterbox"], int],
        layout: Literal["auto", "nchw", "nhwc"],
        bgr: bool,
        **others: Any,
    ) -> Any:
        image, sound = ImageOptions(mean, std, scale, resize, layout, bgr, *fit), None
        if preprocess is not None:
            usual = ImageOptions(resize=resize, layout=layout, fit=fit[0], fill=fit[1])
            if image != usual:
                raise click.UsageError("--preprocess replaces --scale, --mean, --std and --bgr")
            if isinstance(preprocess, FrontEnd):
                sound = preprocess
            else:
                image = replace(usual, **_numbers_of(preprocess))
        return f(image=image, sound=sound, **others)

    for option in (
        click.option(
            "--preprocess",
            type=PreprocessOption(),
            help="Preprocessing that the model expects. Images: a pixel range, torchvision's "
            "mean and std (imagenet), or BGR minus the means (caffe). Sound: a front end "
            "and its parameters, e.g. mfcc:rate=16000,window=30ms,mels=40.",
        ),
        click.option(
            "--scale",
            type=float,
            default=None,
            help="Images: factor on pixels 0..255. [default: 1/255 for float inputs]",
        ),
        click.option(
            "--mean",
            type=NumbersOption(),
            default=(0.0,),
            help="Images: mean, subtracted after --scale; one number or one per channel. "
            "[default: 0]",
        ),
        click.option(
            "--std",
            type=NumbersOption(),
            default=(1.0,),
            help="Images: standard deviation; input = (pixel * scale - mean) / std; one number or "
            "one per channel. [default: 1]",
        ),
        click.option(
            "--resize",
            type=SizeOption(),
            default=None,
            help="Images: resize to HxW; if larger than the input, crop the centre. [default: "
            "the input's size]",
        ),
        click.option(
            "--fit",
            type=FitOption(),
            default=("squash", 0),
            help="Images: how to resize. squash changes the aspect ratio, crop keeps it and "
            "crops the centre, letterbox keeps it and pads with FILL. [default: squash]",
        ),
        click.option(
            "--layout",
            type=click.Choice(["auto", "nchw", "nhwc"]),
            default="auto",
            show_default=True,
            help="Images: dimension order of the model's input.",
        ),
        click.option("--bgr", is_flag=True, help="Images: BGR channel order."),
    ):
        command = option(command)
    return command

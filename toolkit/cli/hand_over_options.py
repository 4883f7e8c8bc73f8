"""Options of what the device hands over and is given."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

import click

from ..hand_over import LAYOUTS, TYPES, HandOver


def _choices(known: Sequence[str]) -> Callable[[Any, Any, tuple[str, ...]], dict[str, str]]:
    def chosen(_: Any, __: Any, given: tuple[str, ...]) -> dict[str, str]:
        found = dict(text.rpartition("=")[::2] for text in given)
        for value in found.values():
            if value not in known:
                raise click.BadParameter(f"'{value}': give one of {', '.join(known)}")
        return found

    return chosen


def hand_over_options(f: Callable[..., Any]) -> Callable[..., Any]:
    """The command gets `hand_over`."""

    @wraps(f)
    def command(
        *,
        input_layout: dict[str, str],
        input_type: dict[str, str],
        output_layout: dict[str, str],
        output_type: dict[str, str],
        **others: Any,
    ) -> Any:
        chosen = HandOver(input_layout, input_type, output_layout, output_type)
        return f(hand_over=chosen, **others)

    for kind, other in (("output", "is given"), ("input", "hands over")):
        command = click.option(
            f"--{kind}-type",
            multiple=True,
            metavar=f"[NAME=]{'|'.join(TYPES)}",
            callback=_choices(tuple(TYPES)),
            help=f"Element type that the device {other}; repeatable, by name of the {kind}. "
            "[default: as the first or last layers compute]",
        )(command)
        command = click.option(
            f"--{kind}-layout",
            multiple=True,
            metavar=f"[NAME=]{'|'.join(LAYOUTS)}",
            callback=_choices(LAYOUTS),
            help=f"Dimension order of images that the device {other}; repeatable. "
            "[default: that of the ONNX model]",
        )(command)
    return command

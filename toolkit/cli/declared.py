"""Options of the command line, made of those that requests declare."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING, Field
from pathlib import Path
from typing import Any, TypeVar

import click

from ..quantize.option import Option, groups_of, options_of
from ..state import AUTO, States
from ..streaming import Axes
from .values import (
    BytesOption,
    ConstantOption,
    DimOption,
    DropOption,
    SizesOption,
    UnitOption,
    pair,
)

F = TypeVar("F", bound=Callable[..., Any])


def declared(request: type, *names: str) -> Callable[[F], F]:
    """The options that the dataclass `request` declares: all in order, or those of these names."""
    found = {each.name: (each, said) for each, said in options_of(request)}

    def declare(f: F) -> F:
        for name in reversed(names or tuple(found)):
            f = _click(*found[name])(f)
        return f

    return declare


def in_groups(request: type, values: dict[str, Any]) -> dict[str, Any]:
    """The values of all options with those of each group as one."""
    values = dict(values)
    for name, kind in groups_of(request).items():
        values[name] = kind(**{each.name: values.pop(each.name) for each, _ in options_of(kind)})
    return values


def _click(each: Field[Any], said: Option) -> Callable[[F], F]:
    names = said.names or (f"--{each.name.replace('_', '-')}",)
    form = _form(each, said) | ({} if said.metavar is None else {"metavar": said.metavar})
    return click.option(*names, each.name, help=said.help, **form)


def _form(each: Field[Any], said: Option) -> dict[str, Any]:
    """What click is to know besides the names and the help."""
    if said.value == "of ports":
        choices = tuple(said.choices)
        return {
            "multiple": True,
            "metavar": f"[NAME=]{'|'.join(choices)}",
            "callback": _of_ports(choices),
        }
    form = dict(_VALUES[said.value])
    if said.choices:
        form = {"type": click.Choice(list(said.choices)), "show_default": True}
    elif said.least is not None:
        form = {"type": click.IntRange(said.least)}
    if not form.get("multiple"):
        form |= {"required": True} if each.default is MISSING else {"default": each.default}
    return form


def _states(_: Any, __: Any, given: tuple[str, ...]) -> States:
    if given == (AUTO,):
        return AUTO
    return [pair(text, "IN=OUT, e.g. h0=hn, or auto alone") for text in given]


def _axes(_: Any, __: Any, given: tuple[str, ...]) -> Axes:
    axes = []
    for text in given:
        name, axis = text.rpartition("=")[::2]
        if not axis.removeprefix("-").isdigit():
            raise click.BadParameter(f"'{text}' is not AXIS or NAME=AXIS, e.g. 2 or x=2")
        axes.append((name, int(axis)))
    return axes


def _of_ports(choices: tuple[str, ...]) -> Callable[[Any, Any, tuple[str, ...]], dict[str, str]]:
    def chosen(_: Any, __: Any, given: tuple[str, ...]) -> dict[str, str]:
        found = dict(text.rpartition("=")[::2] for text in given)
        for value in found.values():
            if value not in choices:
                raise click.BadParameter(f"'{value}': give one of {', '.join(choices)}")
        return found

    return chosen


def _by_name(_: Any, __: Any, given: tuple[tuple[str, Any], ...]) -> dict[str, Any]:
    return dict(given)


_VALUES: dict[str, dict[str, Any]] = {
    "text": {},
    "texts": {"multiple": True},
    "flag": {"is_flag": True},
    "path": {"type": click.Path(path_type=Path)},
    "bytes": {"type": BytesOption()},
    "decibels": {"type": UnitOption("dB", -100, 200)},
    "drop": {"type": DropOption()},
    "shapes": {"type": SizesOption(), "multiple": True, "callback": _by_name},
    "dims": {"type": DimOption(), "multiple": True, "callback": _by_name},
    "constants": {"type": ConstantOption(), "multiple": True, "callback": _by_name},
    "states": {"multiple": True, "callback": _states},
    "axes": {"multiple": True, "callback": _axes},
}
"""What click is to know of each value of option.Value."""

"""Options, declared once: fields of what a command is asked for, in Python and on the command line.

A field with `option` in its metadata is an option of the command too, by `cli/declared.py`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import Field, dataclass, fields
from typing import Any, Literal

from ..errors import UserError

Value = Literal[
    "text", "texts", "flag", "path", "bytes", "decibels", "drop",
    "shapes", "dims", "constants", "states", "axes", "of ports",
]  # fmt: skip
"""What is written on the command line, beside choices and numbers; cli/declared.py reads each."""


@dataclass(frozen=True)
class Option:
    """What is said of an option besides the name, the type and the default of its field.

    help      of the command line; it names a default that is not one of `choices`
    choices   the values that are allowed
    least     the smallest number that is allowed
    value     what is written on the command line
    names     on the command line; that of the field with dashes if there are none
    metavar   what stands for the value in the help
    recorded  in the provenance of files: always, or where it is not the default
    """

    help: str
    choices: Collection[str] = ()
    least: int | None = None
    value: Value = "text"
    names: tuple[str, ...] = ()
    metavar: str | None = None
    recorded: Literal["never", "changed", "always"] = "never"


def option(help: str, **said: Any) -> dict[str, Any]:
    """The metadata of a field that is an option; `said` as Option."""
    return {"option": Option(help, **said)}


def group(kind: type) -> dict[str, Any]:
    """The metadata of a field that holds the options of the dataclass `kind`."""
    return {"group": kind}


def options_of(kind: type) -> Iterator[tuple[Field[Any], Option]]:
    """The options of a dataclass in order, those of its groups in their place."""
    for each in fields(kind):
        if "group" in each.metadata:
            yield from options_of(each.metadata["group"])
        elif "option" in each.metadata:
            yield each, each.metadata["option"]


def groups_of(kind: type) -> dict[str, type]:
    """The groups of a dataclass, by field."""
    return {f.name: f.metadata["group"] for f in fields(kind) if "group" in f.metadata}


def check_options(request: Any) -> None:
    """Raises UserError for a value that is not among its choices, or below the least."""
    for each in fields(request):
        said, value = each.metadata.get("option"), getattr(request, each.name)
        if said is None or value is None:
            continue
        if said.choices and value not in said.choices:
            known = ", ".join(said.choices)
            raise UserError(f"no {each.name} '{value}'; there are: {known}")
        if said.least is not None and value < said.least:
            raise UserError(f"{each.name} is {value}; give {said.least} or more")


def recorded(request: Any) -> dict[str, Any]:
    """What provenance says of the options, by name."""
    found = {}
    for each in fields(request):
        said, value = each.metadata.get("option"), getattr(request, each.name)
        when = "never" if said is None else said.recorded
        if when == "always" or (when == "changed" and value != each.default):
            found[each.name] = value
    return found

"""Options, declared once for Python and the command line as fields of a dataclass.

`cli/declared.py` turns fields with `option` in their metadata into command line options.
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
"""Kinds of values on the command line other than choices and numbers; see cli/declared.py."""


@dataclass(frozen=True)
class Option:
    """The properties of an option in addition to the name, type and default of its field.

    help      help text; it names the default unless that is one of `choices`
    choices   allowed values
    least     minimum number
    value     kind of the value on the command line
    names     names on the command line; default: the field's name with dashes
    metavar   placeholder of the value in the help
    recorded  in the provenance of files: always, or only if it is not the default
    """

    help: str
    choices: Collection[str] = ()
    least: int | None = None
    value: Value = "text"
    names: tuple[str, ...] = ()
    metavar: str | None = None
    recorded: Literal["never", "changed", "always"] = "never"


def option(help: str, **said: Any) -> dict[str, Any]:
    """The metadata of an option field; arguments as for Option."""
    return {"option": Option(help, **said)}


def group(kind: type) -> dict[str, Any]:
    """The metadata of a field with the options of the dataclass `kind`."""
    return {"group": kind}


def options_of(kind: type) -> Iterator[tuple[Field[Any], Option]]:
    """The options of a dataclass in order, including those of its groups."""
    for each in fields(kind):
        if "group" in each.metadata:
            yield from options_of(each.metadata["group"])
        elif "option" in each.metadata:
            yield each, each.metadata["option"]


def groups_of(kind: type) -> dict[str, type]:
    """The groups of a dataclass, by field."""
    return {f.name: f.metadata["group"] for f in fields(kind) if "group" in f.metadata}


def check_options(request: Any) -> None:
    """Raises UserError for a value that is not one of its choices, or below its minimum."""
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
    """The options that provenance records, by name."""
    found = {}
    for each in fields(request):
        said, value = each.metadata.get("option"), getattr(request, each.name)
        when = "never" if said is None else said.recorded
        if when == "always" or (when == "changed" and value != each.default):
            found[each.name] = value
    return found

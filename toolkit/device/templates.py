"""C, CMake and linker scripts that are written anew for a model: jinja2 templates of targets/."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ... import targets

if TYPE_CHECKING:
    import jinja2


@cache
def _environment() -> jinja2.Environment:
    import jinja2  # takes 3 MiB, which commands without templates need not

    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(targets.FOLDER),
        autoescape=False,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        undefined=jinja2.StrictUndefined,
    )


def rendered(template: str, **values: Any) -> str:
    """The file that targets/`template`.jinja makes of `values`."""
    return _environment().get_template(f"{template}.jinja").render(values)


def render(template: str, folder: Path, name: str | None = None, **values: Any) -> None:
    """Write it into `folder`, as `name` or else by its own."""
    (folder / (name or Path(template).name)).write_text(rendered(template, **values))


__all__ = ["render", "rendered"]

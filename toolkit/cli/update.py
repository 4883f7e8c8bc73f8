"""`edgekit pack`, `unpack` and `diff`: files for transport, and updates of the file on a device."""

from __future__ import annotations

from pathlib import Path

import click

from ..files import check_writable, read_edge, read_file, write_atomically
from ..format.reader import read
from ..update import applied, header, made
from .options import edge_argument, json_option
from .output import people, print_json

_output = click.option(
    "-o", "--output", type=click.Path(path_type=Path), required=True, help="Output file."
)


@click.command(short_help="Compress a file for transport.")
@edge_argument
@_output
@json_option
def pack(model: Path, output: Path, as_json: bool) -> None:
    """Compress MODEL.edge for transport; `unpack` or, on a device, ek_update restores it."""
    check_writable(output, [model])
    _write(output, made(_edge(model)), as_json)


@click.command(short_help="Write an update from one file to another.")
@click.argument("old", type=click.Path(path_type=Path), metavar="OLD.edge")
@click.argument("new", type=click.Path(path_type=Path), metavar="NEW.edge")
@_output
@json_option
def diff(old: Path, new: Path, output: Path, as_json: bool) -> None:
    """Write the update from OLD.edge to NEW.edge, for devices that have OLD.edge in flash."""
    check_writable(output, [old, new])
    before = _edge(old)
    _write(output, made(_edge(new), before), as_json)


@click.command(short_help="Restore the file of a pack or an update.")
@click.argument("update", type=click.Path(path_type=Path), metavar="UPDATE")
@_output
@click.option("--old", type=click.Path(path_type=Path), help="The file that the update applies to.")
@json_option
def unpack(update: Path, output: Path, old: Path | None, as_json: bool) -> None:
    """Restore the .edge file of `edgekit pack` or, with --old, of `edgekit diff`.

    Runs the decoder of devices; writes nothing unless the SHA-256 is right.
    """
    check_writable(output, [update, *([old] if old else [])])
    content = read_file(update, "a file of edgekit pack or edgekit diff")
    data = applied(content, read_edge(old) if old else None, str(update), str(old))
    write_atomically(output, data)
    if as_json:
        print_json({"output": str(output), "bytes": len(data), "sha256": header(content, "").new})
        return
    people.print(f"{output}: {len(data):,} bytes, SHA-256 {header(content, '').new}")


def _edge(path: Path) -> bytes:
    """The bytes of a file that is a valid model: nothing else is sent to devices."""
    data = read_edge(path)
    read(data, str(path))
    return data


def _write(output: Path, update: bytes, as_json: bool) -> None:
    write_atomically(output, update)
    said = header(update, str(output))
    if as_json:
        print_json(
            {
                "output": str(output),
                "bytes": len(update),
                "file_bytes": said.new_bytes,
                "sha256": said.new,
                "old_sha256": said.old or None,
            }
        )
        return
    share = 100 * len(update) / said.new_bytes
    people.print(f"{output}: {len(update):,} bytes, {share:.1f} % of {said.new_bytes:,}")

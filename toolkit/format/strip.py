"""What only tools read, left out of a file: what a device gets, and what budgets count."""

from __future__ import annotations

from dataclasses import replace

from .model import EdgeModel, Provenance
from .reader import read
from .writer import write


def stripped(model: EdgeModel) -> EdgeModel:
    """`model` without provenance, names of operators, and which channels they kept.

    Names of inputs and outputs stay, but not those of states. It runs as before; layers cannot be
    compared by it.
    """
    ops = [replace(op, name="") for op in model.ops]
    return replace(model, ops=ops, provenance=Provenance(), pruned={}, states=[])


def strip(data: bytes, source: str = "model") -> bytes:
    """The file `data` without them. Raises UserError for a damaged one, by the name `source`."""
    return write(stripped(read(data, source)))

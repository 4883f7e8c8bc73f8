"""What only tools read, left out of a file: what a device gets, and what budgets count."""

from __future__ import annotations

import json
from collections.abc import Collection
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


def strip(data: bytes, source: str = "model", keep: Collection[str] = ()) -> bytes:
    """The file `data` without them, but for what provenance has of the options `keep`.

    Raises UserError for a damaged file, by the name `source`.
    """
    model = read(data, source)
    kept = {k: v for k, v in model.provenance.settings.items() if k in keep}
    made = stripped(model)
    if kept:
        made = replace(made, provenance=Provenance(options=json.dumps(kept, sort_keys=True)))
    return write(made)

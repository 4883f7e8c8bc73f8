"""What lies in a file's blob, region by region."""

from __future__ import annotations

from .model import EdgeModel, OpRecord
from .schema import BLOB_FIELDS, OPTIONAL, Place
from .structs import NO_BLOB


def blob_fields(op: OpRecord) -> list[str]:
    """The parameters that are offsets in the blob, of what is there."""
    optional = OPTIONAL.get(op.kind.name)
    found = BLOB_FIELDS.get(op.kind.name, ())
    there = [f for f in found if op.is_coded or f.partition(".")[0] != optional]
    return [f for f in there if op.params[f] != NO_BLOB]


def region_ends(model: EdgeModel) -> dict[int, int]:
    """Where each region of the blob ends, by where it begins: where the next one does."""
    starts = {int(op.params[f]) for op in model.ops for f in blob_fields(op)}
    starts |= {t.offset for t in model.tensors if t.place == Place.Blob}
    starts |= {s.initial for s in model.starts.values()}
    ordered = sorted(starts)
    return dict(zip(ordered, [*ordered[1:], len(model.blob)], strict=False))

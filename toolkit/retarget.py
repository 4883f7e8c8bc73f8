"""A generic file -> the same model for one target: weights packed for its kernels, tables as they
read them, all executed in place from flash, and memory planned with exactly the scratch that those
kernels need."""

from __future__ import annotations

from dataclasses import replace

from .errors import UserError
from .format.blob import blob_fields, region_ends
from .format.model import EdgeModel, OpRecord
from .format.schema import Place
from .format.structs import pack
from .format.tables import WIDE, is_tight, table_of
from .format.writer import write
from .plan import ARENA_ALIGN, placed
from .plan.records import assigned
from .runtime import Model, OpForm, Planner


def retarget(data: bytes, model: EdgeModel, plan: str) -> bytes:
    """The file for kernel table `plan`; `data` are the bytes of the generic `model`.

    Results stay the same to the bit. Raises UserError for a file that is not generic.
    """
    if model.target != "generic":
        raise UserError(
            f"the file is already packed for {model.target}; use the generic file that edgekit "
            "quantize wrote"
        )
    planner = Planner(plan)
    packed = _repack(model, planner.packed(Model(data)))
    return write(_replan(replace(packed, target=plan), planner))


def _keeps_weights(op: OpRecord) -> bool:
    """Nibbles stay as they are: unpacked in the file they would be no smaller than int8."""
    return op.is_coded


class _NewBlob:
    """Regions of the old blob, moved; and packed weights in place of plain ones."""

    def __init__(self, model: EdgeModel) -> None:
        self.old, self.data = model.blob, bytearray()
        self._moved: dict[int | bytes, int] = {}
        self._ends = region_ends(model)

    def moved(self, offset: int) -> int:
        """Where the region that began at `offset` is now; it keeps its alignment up to 16."""
        if offset not in self._moved:
            align = min(ARENA_ALIGN, offset & -offset or ARENA_ALIGN)
            self._moved[offset] = self._append(self.old[offset : self._ends[offset]], align)
        return self._moved[offset]

    def made(self, content: bytes) -> int:
        """Where these packed weights, or this wide table, are; the same ones lie there once."""
        if content not in self._moved:
            self._moved[content] = self._append(content, ARENA_ALIGN)
        return self._moved[content]

    def _append(self, content: bytes, align: int) -> int:
        self.data += bytes(-len(self.data) % align)
        self.data += content
        return len(self.data) - len(content)


def _repack(model: EdgeModel, packed: list[bytes]) -> EdgeModel:
    blob = _NewBlob(model)
    ops = []
    for op, weights in zip(model.ops, packed, strict=True):
        params = dict(op.params)
        for field in blob_fields(op):
            if field == "weights" and weights and not _keeps_weights(op):
                params[field] = blob.made(weights)
            elif field == "requant.table" and is_tight(params):
                element = model.element(op)
                assert element is not None
                table = table_of(op.kind, element, params, model.blob)
                params |= WIDE | {field: blob.made(table.wide().tobytes())}
            else:
                params[field] = blob.moved(int(params[field]))
        ops.append(replace(op, params=params))
    tensors = [
        replace(t, offset=blob.moved(t.offset)) if t.place == Place.Blob else t
        for t in model.tensors
    ]
    starts = {t: replace(s, initial=blob.moved(s.initial)) for t, s in model.starts.items()}
    return replace(model, ops=ops, tensors=tensors, starts=starts, blob=bytes(blob.data))


def _replan(model: EdgeModel, planner: Planner) -> EdgeModel:
    """Place tensors and the plan's scratch anew."""
    scratch = [
        planner.scratch_bytes(
            OpForm(op.number(model.tensors), model.element(op), pack(op.kind.name, op.params))
        )
        for op in model.ops
    ]
    return placed(model, *assigned(model), list(enumerate(scratch, 1)))

"""Which operators run on the accelerator: decided here, stored in the file, obeyed at run time."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ...toolkit.errors import UserError
from ...toolkit.format.model import ABSENT, EdgeModel, TensorRecord
from ...toolkit.format.schema import OpKind, Place
from ...toolkit.format.writer import write
from .config import Config
from .loops import loops_of


@dataclass(frozen=True)
class Placed:
    """An operator's place, and why it is not on the accelerator."""

    name: str
    kind: str
    on_accelerator: bool
    reason: str


def partition(model: EdgeModel, config: Config) -> tuple[bytes, list[Placed]]:
    """The file with its operators placed, and the decision for each.

    An operator goes to the accelerator if that has it and it fits `config`. Everything between two
    boundaries stays on one side, so the only cost of leaving is moving the tensors that cross.
    Raises UserError for a file with branches or loops, whose operators do not run in their order.
    """
    if any(op.kind == OpKind.Region for op in model.ops):
        raise UserError(
            "the file has branches or loops (If, Loop, Scan), which the accelerator does not "
            "support; export the model unrolled, or quantize it, which unrolls loops where "
            "possible"
        )
    placed = on_accelerator(model, config)
    return write(replace(model, placement=tuple(p.on_accelerator for p in placed))), placed


def on_accelerator(model: EdgeModel, config: Config) -> list[Placed]:
    """The decision for each operator, in order."""
    found = []
    for name, op, loops in zip(model.op_names, model.ops, loops_of(model, config), strict=True):
        reason = loops if isinstance(loops, str) else ""
        found.append(Placed(name, op.kind.name, not reason, reason))
    return found


def boundaries(model: EdgeModel) -> list[tuple[int, int, bool]]:
    """(operator, tensor, to the accelerator) of every tensor that crosses before an operator.

    The operator after the last stands for the model's outputs. Tensors that share memory cross as
    the one that was written.
    """
    crossings = []
    home: dict[tuple[int, int], bool] = {}
    for i, op in enumerate(model.ops):
        side = bool(model.placement) and model.placement[i]
        for t in op.inputs:
            if t != ABSENT and model.tensors[t].place == Place.Arena:
                key = _span(model.tensors[t])
                if home.get(key, False) != side:
                    crossings.append((i, t, side))
                    home[key] = side
        for t in op.outputs:
            home[_span(model.tensors[t])] = side
    for io in model.outputs:
        if home.get(_span(model.tensors[io.tensor]), False):
            crossings.append((len(model.ops), io.tensor, False))
    return crossings


def _span(t: TensorRecord) -> tuple[int, int]:
    return t.offset, t.nbytes


__all__ = ["Placed", "boundaries", "on_accelerator", "partition"]

"""A model whose dimensions vary, at some of its sizes: the shapes and numbers that it has there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from ..errors import UserError
from ..ir import Array
from .describe import macs
from .model import EdgeModel, IoRecord
from .schema import Term
from .varying import Varying


def at_sizes(model: EdgeModel, sizes: Sequence[int]) -> EdgeModel:
    """`model` with each number as it is at these sizes of its symbols; without symbols as it is."""
    if not model.symbols:
        return model

    def now(number: Any) -> Any:
        return number.expression.value(sizes) if isinstance(number, Varying) else number

    def port(io: IoRecord) -> IoRecord:
        return replace(io, shape=tuple(map(now, io.shape)))

    found = replace(
        model,
        tensors=[replace(t, shape=tuple(map(now, t.shape))) for t in model.tensors],
        ops=[replace(op, params={k: now(v) for k, v in op.params.items()}) for op in model.ops],
        inputs=[port(io) for io in model.inputs],
        outputs=[port(io) for io in model.outputs],
        symbols=(),
    )
    total = sum(macs(op.kind, op.params) for op in found.ops)
    return replace(found, memory=replace(model.memory, macs=total))


def sizes_of(model: EdgeModel, held: Sequence[Array]) -> tuple[int, ...]:
    """The sizes that inputs say, in order as the device holds them; the largest of a symbol that is
    no dimension of them."""
    found = [s.highest for s in model.symbols]
    for io, array in zip(model.inputs, held, strict=True):
        for known, n in zip(io.held_shape, array.shape, strict=True):
            terms = known.expression.terms if isinstance(known, Varying) else ()
            if len(terms) == 1 and terms[0][0] == Term.Symbol:
                found[terms[0][1]] = n
    return tuple(found)


def chosen_sizes(model: EdgeModel, sizes: Mapping[str, int] | None, source: str) -> tuple[int, ...]:
    """Those given by name, the others the largest. Raises UserError for what the model has not."""
    found = {s.name: s.highest for s in model.symbols}
    for name, n in (sizes or {}).items():
        symbol = next((s for s in model.symbols if s.name == name), None)
        if symbol is None:
            known = ", ".join(found) or "none"
            raise UserError(f"{source}: no variable dimension '{name}'; available: {known}")
        if n not in symbol.sizes:
            raise UserError(f"{source}: {name} is {n}; the file takes {symbol}")
        found[name] = n
    return tuple(found.values())

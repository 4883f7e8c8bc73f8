"""The records of a file -> buffers: `buffers.assign` for what has no graph any more."""

from __future__ import annotations

from dataclasses import replace

from ..format.model import ABSENT, EdgeModel
from ..format.schema import OpKind, Place, RegionFn
from .memory import Buffer


def assigned(model: EdgeModel) -> tuple[list[Buffer], dict[int, int]]:
    """The buffers of a file whose tensors are placed, and the buffer of each tensor of the arena.

    Tensors that are alive together in the same bytes are one buffer under two names, and of one
    size: a view, or an output over an input (plan/buffers.py; the runtime refuses others). Steps
    count the file's operators from 1.
    """
    first, last = lifetimes(model)
    arena = [i for i, t in enumerate(model.tensors) if t.place == Place.Arena]
    buffer_of: dict[int, int] = {}
    buffers: list[Buffer] = []
    alive: list[int] = []
    for i in sorted(arena, key=lambda i: first[i]):
        alive = [j for j in alive if last[j] >= first[i]]
        shared = next((j for j in alive if _overlap(model, i, j)), None)
        alive.append(i)
        if shared is None:
            buffer_of[i] = len(buffers)
            buffers.append(Buffer(model.tensors[i].nbytes, first[i], last[i]))
            continue
        at = buffer_of[i] = buffer_of[shared]
        buffers[at] = replace(buffers[at], last=max(buffers[at].last, last[i]))
    return buffers, buffer_of


def lifetimes(model: EdgeModel) -> tuple[dict[int, int], dict[int, int]]:
    """First and last step of each tensor: inputs from 0, outputs past the last operator. What a
    loop reads of before it lives until its end."""
    first: dict[int, int] = {io.tensor: 0 for io in model.inputs}
    last: dict[int, int] = {io.tensor: 0 for io in model.inputs}
    written: dict[int, int] = {}
    for step, op in enumerate(model.ops, 1):
        for i in op.outputs:
            written.setdefault(i, step)
        for i in (*op.inputs, *op.outputs):
            if i != ABSENT:
                first.setdefault(i, step)
                last[i] = step
    end = len(model.ops) + 1
    for io in model.outputs:
        first.setdefault(io.tensor, end)
        last[io.tensor] = end
    # What no operator writes is a view of the memory of another tensor, as an output may be. It
    # begins with what was written there before it is read, and if nothing reads it, ends there.
    for i in range(len(model.tensors)):
        if i not in written and first.get(i, end):
            before = first.get(i, end)
            steps = [s for j, s in written.items() if s < before and _overlap(model, i, j)]
            first[i] = max(steps, default=0)
            last.setdefault(i, first[i])
    for step, op in enumerate(model.ops, 1):
        if op.kind != OpKind.Region or op.params["fn"] != RegionFn.EndLoop:
            continue
        begin = step - int(op.params["back"])
        for i in {i for o in model.ops[begin : step - 1] for i in o.inputs if i != ABSENT}:
            if first[i] < begin:
                last[i] = max(last[i], step)
    return first, last


def _overlap(model: EdgeModel, i: int, j: int) -> bool:
    a, b = model.tensors[i], model.tensors[j]
    same = a.place == b.place
    return same and a.offset < b.offset + b.nbytes and b.offset < a.offset + a.nbytes

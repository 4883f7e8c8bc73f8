"""A file with its tensors and scratch in the arena: the last step of `build` and of `retarget`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ..format.model import EdgeModel
from ..format.schema import WeightCodec
from .memory import TRIES, Buffer, Layout, place, round_up

ARENA_ALIGN = 16


def placed(
    model: EdgeModel,
    buffers: Sequence[Buffer],
    buffer_of: Mapping[int, int],
    scratch: Sequence[tuple[int, int]],
    tries: int = TRIES,
) -> EdgeModel:
    """`model` with each tensor of `buffer_of` where its buffer lies, and scratch for each operator:
    (its step, as the buffers count them, and the bytes)."""
    needed = [i for i, (_, size) in enumerate(scratch) if size]
    own = [Buffer(scratch[i][1], scratch[i][0], scratch[i][0]) for i in needed]
    layout = place([*buffers, *own], ARENA_ALIGN, tries)
    scratch_at = dict(zip(needed, layout.offsets[len(buffers) :], strict=True))
    tensors = list(model.tensors)
    for i, b in buffer_of.items():
        tensors[i] = replace(tensors[i], offset=layout.offsets[b])
    ops = []
    for i, (op, (step, size)) in enumerate(zip(model.ops, scratch, strict=True)):
        at, room = scratch_at.get(i, 0), size
        if size and op.codec == WeightCodec.Huffman:
            at, room = _largest_gap(buffers, layout, step)
        ops.append(replace(op, scratch_bytes=room, scratch_offset=at) if size else op)
    memory = replace(
        model.memory,
        arena_bytes=layout.total,
        scratch_bytes=max((size for _, size in scratch), default=0),
        arena_bound_bytes=layout.bound,
    )
    return replace(model, tensors=tensors, ops=ops, memory=memory)


def _largest_gap(buffers: Sequence[Buffer], layout: Layout, step: int) -> tuple[int, int]:
    """Offset and bytes of the largest part of the arena that no buffer needs at `step`: weights are
    decoded in the fewer blocks, the more of them fit."""
    taken = sorted(
        (at, round_up(at + b.size, ARENA_ALIGN))
        for b, at in zip(buffers, layout.offsets, strict=False)
        if b.first <= step <= b.last
    )
    gaps, end = [], 0
    for low, high in [*taken, (layout.total, layout.total)]:
        gaps.append((low - end, -end))
        end = max(end, high)
    room, at = max(gaps)
    return -at, room

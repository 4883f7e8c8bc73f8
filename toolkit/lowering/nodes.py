"""Operators of a graph -> parameters of a file and the constants that they refer to."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar
from weakref import WeakKeyDictionary, WeakValueDictionary

import numpy as np

from ..format.model import ABSENT, DTYPE_OF, TensorRecord, is_variant
from ..format.program import Written
from ..format.schema import FORMS, VARIANT, Place
from ..format.structs import pack
from ..ir import SHARED_BYTES, Array, Node, Value
from ..ops import definition
from ..ops._opdef import Lowered
from ..plan import ARENA_ALIGN
from ..plan.buffers import runs_nothing
from ..runtime import OpForm, scratch_bytes

MAX_RANK = 8
"""Dimensions of a tensor that the runtime opens."""


class Blob:
    """Constants, back to back; identical ones once if it is `tight`, else large ones that are the
    same object."""

    def __init__(self, tight: bool = True) -> None:
        self.tight = tight
        self.data = bytearray()
        self._known: dict[tuple[int, int, int], int] = {}
        self._same: dict[tuple[int, int], tuple[int, bytes]] = {}

    def add(self, *arrays: Array, align: int = 4) -> int:
        return self.put(b"".join(np.ascontiguousarray(a).tobytes() for a in arrays), align)

    def put(self, content: bytes, align: int) -> int:
        """Where `content` lies."""
        if not self.tight:
            if len(content) < SHARED_BYTES:
                return self._append(content, align)
            same = id(content), align
            if same not in self._same:
                self._same[same] = self._append(content, align), content
            return self._same[same][0]
        key = hash(content), len(content), align
        at = self._known.get(key)
        if at is None or not self._holds(content, at):
            at = self._known[key] = self._append(content, align)
        return at

    def _append(self, content: bytes, align: int) -> int:
        self.data += bytes(-len(self.data) % align)
        self.data += content
        return len(self.data) - len(content)

    def _holds(self, content: bytes, at: int) -> bool:
        with memoryview(self.data) as data, data[at : at + len(content)] as there:
            return there == content


class _Offset(int):
    """Where in a file a content lies that a node has there."""

    content: int


class _Recorder(Blob):
    """What an operator puts into `blob`: the contents, how they are aligned, and where they lie."""

    def __init__(self, blob: Blob, held: Callable[[bytes], bytes]) -> None:
        self.blob, self.tight, self.held = blob, blob.tight, held
        self.contents: list[tuple[bytes, int]] = []
        self.at: list[int] = []

    def put(self, content: bytes, align: int) -> int:
        content = self.held(content)
        at = _Offset(self.blob.put(content, align))
        at.content = len(self.contents)
        self.contents.append((content, align))
        self.at.append(at)
        return at


@dataclass(frozen=True)
class Known:
    """A node lowered: its scratch, what it put into a file, where, and how it is `written` in
    files, by frame and step (lowering/frames.py)."""

    lowered: Lowered
    scratch: int
    contents: list[tuple[bytes, int]]
    at: list[int]
    written: dict[tuple[int, int], Written] = field(default_factory=dict)

    def put(self, blob: Blob) -> tuple[list[int], Lowered]:
        """Where its contents lie in another file, and the same for it."""
        at = [blob.put(*content) for content in self.contents]
        if at == self.at:
            return at, self.lowered
        params = self.lowered.params.items()
        return at, replace(
            self.lowered,
            params={k: at[v.content] if isinstance(v, _Offset) else v for k, v in params},
        )


@dataclass(frozen=True)
class Step:
    """An operator that runs. `at` and `known` are of nodes that last."""

    node: Node
    lowered: Lowered
    scratch: int
    at: Sequence[int] = ()
    known: Known | None = None


class Lowering:
    """Lowers nodes; those that last only once, while they live, and others once for all the orders
    of a graph that share `once`."""

    known: ClassVar[WeakKeyDictionary[Node, Known]] = WeakKeyDictionary()
    holders: ClassVar[WeakValueDictionary[tuple[int, int], Known]] = WeakValueDictionary()
    """Of large contents, by hash and size."""

    def __init__(self, blob: Blob, lasting: bool, once: dict[Node, Known] | None = None) -> None:
        self.blob, self.lasting, self.once = blob, lasting, once

    def steps(self, order: Sequence[Node]) -> dict[int, Step]:
        """The operators that run, by their place in the order, from 1."""
        return {i: self(node) for i, node in enumerate(order, 1) if not runs_nothing(node)}

    def __call__(self, node: Node) -> Step:
        if not self.lasting:
            return Step(node, *self._of_this_graph(node))
        if known := self.known.get(node):
            at, lowered = known.put(self.blob)
            return Step(node, lowered, known.scratch, at, known)
        known = self.known[node] = self._recorded(node, self._held)
        for content, _ in known.contents:
            if len(content) >= SHARED_BYTES:
                self.holders.setdefault((hash(content), len(content)), known)
        return Step(node, known.lowered, known.scratch, known.at, known)

    def _of_this_graph(self, node: Node) -> tuple[Lowered, int]:
        if self.once is None:
            return _lowered(node, self.blob)
        known = self.once.get(node)
        if known is not None:
            return known.put(self.blob)[1], known.scratch
        known = self.once[node] = self._recorded(node, lambda content: content)
        return known.lowered, known.scratch

    def _recorded(self, node: Node, held: Callable[[bytes], bytes]) -> Known:
        seen = _Recorder(self.blob, held)
        lowered, scratch = _lowered(node, seen)
        told = {v.content for v in lowered.params.values() if isinstance(v, _Offset)}
        assert len(told) == len(seen.contents), f"{node.op} moves where its constants lie"
        return Known(lowered, scratch, seen.contents, seen.at)

    def _held(self, content: bytes) -> bytes:
        """The same content of another lasting node, if there is one."""
        if len(content) < SHARED_BYTES:
            return content
        holder = self.holders.get((hash(content), len(content)))
        others = (other for other, _ in (holder.contents if holder else ()))
        return next((other for other in others if other == content), content)


def _lowered(node: Node, blob: Blob) -> tuple[Lowered, int]:
    lowered = definition(node.op).lower(node, blob)
    return lowered, scratch_bytes(None, _form(node, lowered))


def _form(node: Node, lowered: Lowered) -> OpForm:
    variant = is_variant(lowered.kind, lowered.params, DTYPE_OF[node.output.dtype])
    v = node.output if variant else next(iter(lowered.operands), None)
    typed = v is not None and (lowered.kind, False, None) not in FORMS
    element = DTYPE_OF[v.dtype] if v is not None and typed else None
    params = pack(lowered.kind.name, lowered.params)
    return OpForm(lowered.kind + VARIANT * variant, element, params)


class Tensors:
    """The index of a value's record, when first asked for; computed ones are at `places`."""

    def __init__(self, blob: Blob, places: Mapping[Value, tuple[Place, int]]) -> None:
        self._blob, self._places = blob, places
        self._constants: dict[Value, int] = {}
        self.known: dict[Value, int] = {}

    def __call__(self, value: Value | None) -> int:
        if value is None:
            return ABSENT
        at = self.known.get(value)
        if at is None:
            at = self.known[value] = len(self.known)
            if value.const is not None:
                self._constants[value] = self._blob.add(value.const, align=ARENA_ALIGN)
        return at

    def constant(self, value: Value) -> int | None:
        """Where in the blob a constant lies."""
        return self._constants.get(value)

    def records(self) -> list[TensorRecord]:
        """Of all values asked for."""
        return [self._record(v) for v in self.known]

    def _record(self, value: Value) -> TensorRecord:
        if value in self._constants:
            where, offset = Place.Blob, self._constants[value]
        else:
            where, offset = self._places[value]
        if len(value.shape) > MAX_RANK:
            raise ValueError(
                f"tensor '{value.name}' {list(value.shape)} has {len(value.shape)} dimensions; at "
                f"most {MAX_RANK} are supported: merge some with Reshape"
            )
        scale, zero = stored_quant(value)
        return TensorRecord(value.shape, DTYPE_OF[value.dtype], where, offset, scale, zero)


def stored_quant(value: Value) -> tuple[float, int]:
    """Scale and zero point of a value's record."""
    if value.quant is None or value.dtype.kind == "f":
        return 0.0, 0
    return float(np.float32(value.quant.scalar)), value.quant.zero_point

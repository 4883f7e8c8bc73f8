"""The graph that every pass reads and writes. It knows no ONNX, no FlatBuffers, no C.

Activations with spatial dimensions are NHWC. A node's weights are constant `Value`s among its
inputs. `toolkit/ops` says what each operator's attributes and inputs mean.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from hashlib import sha256
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Shape = tuple[int, ...]


@dataclass(frozen=True)
class TensorType:
    """Element type and static shape."""

    dtype: np.dtype[Any]
    shape: Shape

    @property
    def size(self) -> int:
        return prod(self.shape)

    @property
    def nbytes(self) -> int:
        return self.size * self.dtype.itemsize


@dataclass(frozen=True)
class QuantParams:
    """real = scale * (q - zero_point). One scale, or one per index of `axis` (zero_point 0)."""

    scale: tuple[float, ...]
    zero_point: int = 0
    axis: int | None = None
    qmin: int = -128
    qmax: int = 127

    @staticmethod
    def int16(scale: float) -> QuantParams:
        """Of an int16 activation: symmetric, and -32768 is never made."""
        return QuantParams((scale,), qmin=-32767, qmax=32767)

    @property
    def dtype(self) -> np.dtype[Any]:
        """What holds q: int8, or int16 where the limits ask for it."""
        return np.dtype(np.int8 if self.qmin >= -128 and self.qmax <= 127 else np.int16)

    @property
    def scalar(self) -> float:
        """The scale of a per-tensor quantization."""
        if self.axis is not None:
            raise ValueError("quantized per channel: there is no one scale")
        return self.scale[0]

    def quantize(self, x: Array) -> Array:
        """Nearest (half to even) q of `x`, as the runtime does: IEEE float32 division."""
        with np.errstate(over="ignore"):  # infinite, as -3.4e38 of a mask is: clipped below
            q = np.rint(x.astype(np.float32) / np.float32(self.scalar))
        q = q + np.float32(self.zero_point)
        q = np.where(np.isnan(q), np.float32(self.zero_point), q)
        return np.clip(q, self.qmin, self.qmax).astype(self.dtype)

    def dequantize(self, q: Array) -> NDArray[np.float32]:
        """float32 of per-tensor `q`, as the runtime does."""
        return ((q.astype(np.int32) - self.zero_point).astype(np.float32)) * np.float32(self.scalar)


@dataclass(eq=False)
class Value:
    """A tensor: made by one node, a graph input, or constant (`const` set)."""

    name: str
    type: TensorType
    const: Array | None = None
    quant: QuantParams | None = None

    @property
    def shape(self) -> Shape:
        return self.type.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.type.dtype

    def __repr__(self) -> str:
        return f"{self.name}:{self.dtype}{list(self.shape)}"


def constant(array: Array, name: str, quant: QuantParams | None = None) -> Value:
    """A constant value; the array is made contiguous and must not be changed afterwards."""
    array = np.ascontiguousarray(array).reshape(np.shape(array))
    return Value(name, TensorType(array.dtype, array.shape), array, quant)


SHARED_BYTES = 1 << 12
"""Bytes from which identical constants are held once."""


class SharedArrays:
    """Large constants of a graph, identical ones once: each step of an unrolled recurrence has its
    weights."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, tuple[int, ...], bytes], Array] = {}

    def __call__(self, array: Array) -> Array:
        """The first array that is the same as this one."""
        if array.nbytes < SHARED_BYTES or array.dtype.hasobject:
            return array
        array = np.ascontiguousarray(array)
        key = array.dtype.str, array.shape, sha256(array.reshape(-1).view(np.uint8).data).digest()
        return self._known.setdefault(key, array)


@dataclass(eq=False)
class Node:
    """One operation. An absent optional input is None."""

    op: str
    inputs: list[Value | None]
    outputs: list[Value]
    attrs: dict[str, Any] = field(default_factory=dict)
    name: str = ""

    def input(self, i: int) -> Value:
        """Input `i`, which must be there."""
        value = self.inputs[i]
        if value is None:
            raise ValueError(f"{self.op} '{self.name}' has no input {i}")
        return value

    @property
    def output(self) -> Value:
        return self.outputs[0]

    @property
    def dynamic_inputs(self) -> list[Value]:
        return [v for v in self.inputs if v is not None and v.const is None]

    def __repr__(self) -> str:
        return f"{self.outputs} = {self.op}({self.inputs}, {self.attrs})"


@dataclass(eq=False)
class Port:
    """An input or output as the user knows it: ONNX name, element type, shape and layout."""

    name: str
    value: Value
    onnx_dtype: int  # TensorProto.DataType
    shape: Shape
    labels: tuple[str, ...] = ()
    """Of strings: what each number stands for. Of floats: names of the last axis, if any."""
    counted_by: str = ""
    """Of an output: the one, int32[1], that says how many indices along an axis are in use."""
    counted_axis: int = 0
    follows: str = ""
    """Of an input that is state: the output that it has the value of from the run before."""
    axes: tuple[int, ...] = ()
    """The axes of `shape` in the order in which `value` has them; empty: the same, or a Reshape of
    it."""
    held: np.dtype[Any] | None = None
    """The element type of an activation that `value` is to have when it is quantized, where the
    user chose one."""


@dataclass(frozen=True, eq=False)
class State:
    """What is held between runs (`toolkit/state.py`): the ports that it stands for, the value that
    is read, and the node that writes what is read next where `held` lies, behind all that reads it.
    Without names it is of no port. It has `start` at first, else real zeros."""

    input: str
    output: str
    held: Value
    store: Node
    start: Array | None = None


@dataclass(eq=False)
class Graph:
    """Nodes in an order of execution, and the ports."""

    nodes: list[Node] = field(default_factory=list)
    inputs: list[Port] = field(default_factory=list)
    outputs: list[Port] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    """What a user should know of how the model was read."""
    constant_inputs: dict[str, Array] = field(default_factory=dict)
    """Inputs of the ONNX model that were made constants, as it takes them."""
    states: list[State] = field(default_factory=list)
    empty_inputs: list[Port] = field(default_factory=list)
    empty_outputs: list[Port] = field(default_factory=list)
    """Ports whose shapes hold no elements: nothing reads or makes their values."""

    def producers(self) -> dict[Value, Node]:
        return {v: n for n in self.nodes for v in n.outputs}

    def consumers(self) -> dict[Value, list[Node]]:
        """Nodes that read each value, a node once per use; values nobody reads are absent."""
        found: dict[Value, list[Node]] = {}
        for node in self.nodes:
            for v in node.inputs:
                if v is not None:
                    found.setdefault(v, []).append(node)
        return found

    def output_values(self) -> set[Value]:
        """What is read when the nodes have run: by the user, or stored."""
        return {p.value for p in self.outputs} | {s.store.input(0) for s in self.states}

    def values(self) -> Iterator[Value]:
        """Every value once: inputs, then in order of first appearance."""
        seen: set[Value] = set()
        groups: list[Iterable[Value | None]] = [[p.value for p in self.inputs]]
        for n in self.nodes:
            groups += [n.inputs, n.outputs]
        for v in (v for group in groups for v in group):
            if v is not None and v not in seen:
                seen.add(v)
                yield v

    def sort(self) -> None:
        """Put nodes in an order of execution, keeping the present order where it is one."""
        made_by = self.producers()
        done: set[int] = set()
        order: list[Node] = []
        for root in self.nodes:
            stack: list[tuple[Node, bool]] = [(root, False)]
            while stack:
                node, ready = stack.pop()
                if id(node) in done:
                    continue
                if ready:
                    done.add(id(node))
                    order.append(node)
                    continue
                stack.append((node, True))
                needs = [made_by[v] for v in node.inputs if v is not None and v in made_by]
                stack += [(n, False) for n in reversed(needs) if id(n) not in done]
        self.nodes = order

    def unshared(self) -> Graph:
        """The same with its own nodes, ports and values; constants and states are shared."""
        own: dict[Value, Value] = {v: replace(v) for v in self.values() if v.const is None}

        def copied(values: Iterable[Value | None]) -> list[Any]:
            return [v if v is None else own.get(v, v) for v in values]

        nodes = [
            Node(n.op, copied(n.inputs), copied(n.outputs), dict(n.attrs), n.name)
            for n in self.nodes
        ]
        inputs, outputs = (
            [replace(p, value=own.get(p.value, p.value)) for p in ports]
            for ports in (self.inputs, self.outputs)
        )
        return replace(self, nodes=nodes, inputs=inputs, outputs=outputs)

    def __str__(self) -> str:
        return "\n".join(repr(n) for n in self.nodes)


class Names:
    """Names that are taken."""

    def __init__(self, taken: Iterable[str] = ()) -> None:
        self._taken = set(taken)

    def unique(self, base: str) -> str:
        """A name nobody has, which is then taken: `base`, or `base` with a number."""
        name, n = base, 1
        while name in self._taken:
            name, n = f"{base}.{n}", n + 1
        self._taken.add(name)
        return name

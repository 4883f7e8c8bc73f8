"""The definition of an operator. There is one module per operator; `ops.ALL` lists them."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from functools import cache
from types import MappingProxyType
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from ..format.describe import macs
from ..format.model import DTYPE_OF
from ..format.schema import BLOB_FIELDS, FORMS, STRUCTS, OpKind
from ..format.structs import NO_BLOB, float_bits
from ..ir import Array, Node, QuantParams, Shape, TensorType, Value
from ..numerics import FLOAT, INT8, DType, Precision, integer_precisions


@dataclass(frozen=True)
class OnnxNode:
    """An ONNX node in plain Python, the argument of `OpDef.from_onnx`.

    Attributes are int, float, str, lists of these, or ndarray for tensors. An absent optional input
    is None. `version` is the opset of the node's domain, after the importer upgraded the model as
    far as possible. All shapes are static. `element(i)` is the ONNX element type
    (TensorProto.DataType) of input `i`, None if it is unknown.
    """

    op: str
    domain: str
    version: int
    name: str
    inputs: list[Value | None]
    outputs: list[str]
    attrs: dict[str, Any]
    element: Callable[[int], int | None] = lambda _: None
    declared: Callable[[int], Shape | None] = field(default=lambda i: None)
    """The shape of output `i`, if it is declared in the model or inferred by onnx."""

    def input(self, i: int) -> Value:
        """Input `i`. Raises Unsupported if it is absent."""
        value = self.optional(i)
        if value is None:
            raise Unsupported(f"it has no input {i}", "export the model again")
        return value

    def optional(self, i: int) -> Value | None:
        return self.inputs[i] if i < len(self.inputs) else None

    def shape_of(self, i: int) -> Shape:
        """The shape of output `i`. Raises Unsupported if it is not declared."""
        shape = self.declared(i)
        if shape is None:
            raise Unsupported(
                "its parameters are computed at run time, and the model does not say the shape of "
                f"output {i}",
                "make them constants, or declare the shape",
            )
        return shape

    def const(self, i: int) -> Array | None:
        """The constant at input `i`; None if absent. Raises Unsupported if it is computed."""
        if i >= len(self.inputs) or self.inputs[i] is None:
            return None
        value = self.inputs[i]
        if value is None or value.const is None:
            raise Unsupported(f"input {i} is computed at run time", "make it a constant")
        return value.const


class Reader(Protocol):
    """Imports an ONNX operator."""

    def from_onnx(self, b: Builder, node: OnnxNode) -> list[Value]:
        """Emit IR for an ONNX node and return its outputs. Raises Unsupported."""


class Unsupported(Exception):  # noqa: N818 - a verdict, not a fault
    """Raised by `from_onnx` for a node that is not supported. The importer collects all of them."""

    def __init__(self, why: str, remedy: str = "") -> None:
        super().__init__(why)
        self.why, self.remedy = why, remedy


class Builder(Protocol):
    """The interface for building nodes in `from_onnx`, implemented by the importer."""

    def emit(self, op: str, inputs: Sequence[Value | None], name: str = "", **attrs: Any) -> Value:
        """Append a node with one output of inferred type; `name` is a hint for its name."""

    def emit_all(
        self, op: str, inputs: Sequence[Value | None], name: str = "", **attrs: Any
    ) -> list[Value]:
        """As `emit`, for an operator with several outputs; returns all of them."""

    def constant(self, array: Array, name: str = "") -> Value: ...

    def transpose(self, x: Value, perm: Sequence[int]) -> Value:
        """`x` permuted; constants are permuted immediately, an identity returns `x`."""

    def reshape(self, x: Value, shape: Sequence[int]) -> Value: ...

    def label(self, x: Value, labels: Sequence[str]) -> Value:
        """`x` as a new value with labels: strings of int32 numbers, else names of columns."""

    def bounded(self, x: Value, count: Value, axis: int) -> Value:
        """`x` with a data-dependent length: only the first `count` (int32[1]) indices along an axis
        are valid."""

    def labels_of(self, x: Value) -> tuple[str, ...] | None:
        """The labels of `x`; None if it has none."""

    def rounded_to(self, x: Value) -> int | None:
        """The ONNX element type to which a Cast converted `x`; None if there is none."""


class Blob(Protocol):
    """Storage for the constants of `lower`. Identical arrays share their bytes.

    tight  tables of requantization are stored in as few bits as possible; otherwise as kernels read
           them, which is faster to write and to open
    """

    tight: bool

    def add(self, *arrays: Array, align: int = 4) -> int:
        """Append the arrays' bytes one after another, aligned; return the offset of the first. Use
        it as a parameter without arithmetic, because offsets change when a file is repacked."""


@dataclass(frozen=True)
class Lowered:
    """An operator as stored in the file. Parameters are by flattened name, e.g. "geometry.in_h".

    `operands` are the inputs that the runtime reads as tensors, in order. Weights are in the blob
    and not among them; constant operands, such as b of an Add, are. Parameters that the element
    type does not use may be omitted: they become 0, or no offset in the blob. The limits of the
    output must not be omitted.
    """

    kind: OpKind
    params: Mapping[str, int | float]
    operands: list[Value | None]

    def __post_init__(self) -> None:
        object.__setattr__(self, "params", {**_unused(self.kind), **self.params})


@cache
def _unused(kind: OpKind) -> Mapping[str, int | float]:
    """Default values of parameters that may be omitted."""
    unused: dict[str, int | float] = dict.fromkeys(STRUCTS[kind.name][1], 0)
    unused |= dict.fromkeys(BLOB_FIELDS.get(kind.name, ()), NO_BLOB)
    for name in ("qmin", "qmax", "codec.auxiliary"):
        unused.pop(name, None)
    if "codec.id" in unused:
        unused["codec.auxiliary"] = 0  # without a codec
    return unused


def computes_in(kind: OpKind, dtype: np.dtype[Any]) -> bool:
    """Whether the runtime has a body of `kind` for this element type."""
    return (kind, False, DTYPE_OF.get(dtype)) in FORMS


def problem_of(compute: Callable[..., object], *args: object) -> str | None:
    """The message of the ValueError that `compute` raises for these arguments, or None."""
    try:
        compute(*args)
    except ValueError as why:
        return str(why)
    return None


Layout = Mapping[str, Literal["axis", "axes", "each"]]
ANY_LAYOUT: Layout = MappingProxyType({})
ALONG_AXIS: Layout = MappingProxyType({"axis": "axis"})
ALONG_AXES: Layout = MappingProxyType({"axes": "axes"})


def of_each_axis(*names: str) -> Layout:
    """The layout rule of an operator whose attributes have a value for each axis."""
    return MappingProxyType(dict.fromkeys(names, "each"))


class OpDef(ABC):
    """An operator of the IR.

    name        name in the IR
    onnx        ONNX operators that are imported as it ("ai.onnx.ml.Scaler" for other domains)
    exactness   'exact': float results equal onnxruntime's; 'rounding': within rtol 1e-4
    weight      index of the input that is quantized symmetrically per output channel (axis 0)
    bias        index of the input that becomes int32 with scale input_scale * weight_scale[channel]
    real_constants  inputs that stay float32 constants in the integer form
    inner_weight  the one of these that the operator itself rounds, to 8 bits or as given by its
                attribute `storage`
    fn          the runtime function of a unary or binary elementwise operator; or None
    shared      all dynamic inputs and the output must have the same QuantParams
    layout      how attributes change if all axes are permuted: "axis": it names an axis; "axes": it
                names several, which must stay adjacent; "each": it has a value per axis. None: the
                operator requires its own layout
    broadcasts  inputs with fewer or smaller axes are broadcast to the output
    view        the output is the input's memory: nothing is executed
    selects     the output's elements are elements of the inputs, without rounding
    channelwise properties of an operator that works on each channel (last axis) separately, without
                padding: "scale": f(s x) = s f(x) for s > 0; "shift": f(x + c) = f(x) + c; "order":
                monotone on integers
    keeps_order along its axis the output has the order of the input
    heavy       its sums of products are most of the work of a model
    precisions  the integer precisions that its integer form supports
    wide        whether it supports 64-bit tensors
    reals       the float types that it computes in; others are cast to float32 before it
    float_only  why there is no integer kernel for any node (a table is possible); None if there is
    inplace     inputs whose memory output 0 may reuse (same bytes, read before written)
    """

    name: str
    onnx: tuple[str, ...] = ()
    exactness: Literal["exact", "rounding"] = "rounding"
    weight: int | None = None
    bias: int | None = None
    real_constants: tuple[int, ...] = ()
    inner_weight: int | None = None
    fn: IntEnum | None = None
    shared: bool = False
    layout: Layout | None = None
    broadcasts: bool = False
    view: bool = False
    selects: bool = False
    channelwise: frozenset[Literal["scale", "shift", "order"]] = frozenset()
    keeps_order: bool = False
    heavy: bool = False
    precisions: frozenset[Precision] = integer_precisions(INT8)
    wide: bool = False
    reals: tuple[DType, ...] = (FLOAT,)
    float_only: str | None = None
    inplace: tuple[int, ...] = ()

    @property
    def any_weight(self) -> int | None:
        """The input with constant weights: `weight`, or else `inner_weight`."""
        return self.inner_weight if self.weight is None else self.weight

    def from_onnx(self, b: Builder, node: OnnxNode) -> list[Value]:
        """Emit IR for an ONNX node and return its outputs. Raises Unsupported."""
        raise NotImplementedError(f"{self.name} is not imported from ONNX")

    @abstractmethod
    def infer(self, node: Node) -> list[TensorType]:
        """Types of the outputs by inputs and attributes. Raises ValueError for an illegal node."""

    def integer_problem(self, node: Node) -> str | None:
        """Why this float node has no integer form at any precision; None if it has one."""
        return self.float_only

    def problem(self, node: Node, precision: Precision) -> str | None:
        """Why this float node cannot run at this integer precision; None if it can."""
        if precision.weight_bits not in {p.weight_bits for p in self.precisions}:
            return f"{self.name} has no {precision.weight_bits}-bit weights"
        if type(self).integer is OpDef.integer:
            return "it has no integer form"
        if precision not in self.precisions:
            return f"{self.name} has no {precision.activations} form"
        return self.integer_problem(node)

    def sizes(self, node: Node) -> tuple[OpKind, dict[str, int | float]] | None:
        """The kind and the parameters, as in `lower`, that determine the number of products; None
        for an operator without products."""
        return None

    def macs(self, node: Node) -> int:
        """Multiply-accumulates of a run, including padding; 0 for an operator without products."""
        sizes = self.sizes(node)
        return 0 if sizes is None else macs(*sizes)

    def sums_channels(self, node: Node) -> bool:
        """Whether each output sums over all channels of the input, times weights."""
        return False

    def accumulator_problem(self, node: Node) -> str | None:
        """Why the scales and constants of an integer node exceed the arithmetic, or None."""
        return None

    def fixed_output(self, node: Node, dtype: np.dtype[Any]) -> QuantParams | None:
        """The fixed output quantization for `dtype` (int8 or int16), if the operator has one."""
        return None

    def takes_missing(self, node: Node) -> bool:
        """Whether the operator handles NaN in a node's inputs as a missing value."""
        return False

    def last_states(self, node: Node) -> dict[Value, list[Value]]:
        """The outputs, by the input that they are the next value of: the states of a recurrent
        layer after its last step, by those before its first."""
        return {}

    def inside(self, node: Node) -> dict[str, Node]:
        """Internal values that need ranges in the integer form: float nodes that compute them, by
        the attribute that their QuantParams become."""
        return {}

    def alone(self, node: Node, i: int) -> Node:
        """A node with only the i-th output of a node with several."""
        raise NotImplementedError(f"{self.name} has one output")

    def table(self, node: Node) -> Callable[[NDArray[np.float64]], NDArray[np.float64]] | None:
        """For a unary function: itself in double precision, for an int8 table of 256 entries."""
        return None

    def compacted(self, node: Node) -> tuple[dict[str, Any], str] | None:
        """For a node that keeps float tensors in a quantized model: attributes with quantized
        contents, and a message for the user. None if there are none."""
        return None

    def integer(self, node: Node, inputs: list[Array | None]) -> list[Array]:
        """The integer form, defined in numpy: every kernel must match it bit for bit."""
        raise NotImplementedError(f"{self.name} has no integer form")

    @abstractmethod
    def lower(self, node: Node, blob: Blob) -> Lowered:
        """The runtime operator for this node, by the dtype of its input: float32, int8 or int16."""


@dataclass(frozen=True)
class Activation:
    """A fused clamp, stored in the attributes act_min and act_max (real numbers)."""

    low: float = field(default=-np.inf)
    high: float = field(default=np.inf)

    @staticmethod
    def of(node: Node) -> Activation:
        return Activation(node.attrs.get("act_min", -np.inf), node.attrs.get("act_max", np.inf))

    def q_range(self, q: QuantParams) -> tuple[int, int]:
        """(qmin, qmax) of the clamp in the output's quantization."""

        def to_q(real: float, otherwise: int) -> int:
            if not math.isfinite(real):
                return otherwise
            return max(q.qmin, min(round(real / q.scalar) + q.zero_point, q.qmax))

        return to_q(self.low, q.qmin), to_q(self.high, q.qmax)

    def limits(self, q: QuantParams | None) -> dict[str, int]:
        """The fields qmin and qmax of an output quantized by `q`; None: a float32 output."""
        if q is None:
            return {"qmin": float_bits(self.low), "qmax": float_bits(self.high)}
        qmin, qmax = self.q_range(q)
        return {"qmin": qmin, "qmax": qmax}

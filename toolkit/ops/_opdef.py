"""What an operator must say about itself. One module an operator; `ops.ALL` lists them."""

from __future__ import annotations

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
    """An ONNX node in plain Python: what `OpDef.from_onnx` reads.

    Attributes are int, float, str, list of those, or ndarray for tensors. An absent optional
    input is None. `version` is the opset of the node's domain (the importer has upgraded the model
    to the newest that it could). All shapes are static. `element(i)` is the TensorProto.DataType
    that input `i` has in ONNX, None if nobody knows.
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
    """The shape of output `i`, where the model says it or shape inference finds it."""

    def input(self, i: int) -> Value:
        """Input `i`. Raises Unsupported when it is not there."""
        value = self.optional(i)
        if value is None:
            raise Unsupported(f"it has no input {i}", "export the model again")
        return value

    def optional(self, i: int) -> Value | None:
        return self.inputs[i] if i < len(self.inputs) else None

    def shape_of(self, i: int) -> Shape:
        """The shape of output `i`. Raises Unsupported when nothing says it."""
        shape = self.declared(i)
        if shape is None:
            raise Unsupported(
                "its parameters are computed at run time, and the model does not say the shape of "
                f"output {i}",
                "make them constants, or declare the shape",
            )
        return shape

    def const(self, i: int) -> Array | None:
        """The constant at input `i`; None when absent. Raises Unsupported when it is computed."""
        if i >= len(self.inputs) or self.inputs[i] is None:
            return None
        value = self.inputs[i]
        if value is None or value.const is None:
            raise Unsupported(f"input {i} is computed at run time", "make it a constant")
        return value.const


class Reader(Protocol):
    """What reads an ONNX operator."""

    def from_onnx(self, b: Builder, node: OnnxNode) -> list[Value]:
        """Emit IR for an ONNX node and return its outputs; raise Unsupported to refuse."""


class Unsupported(Exception):  # noqa: N818 - a verdict, not a fault
    """Raised by `from_onnx`: this node cannot be served, and why. The importer collects them."""

    def __init__(self, why: str, remedy: str = "") -> None:
        super().__init__(why)
        self.why, self.remedy = why, remedy


class Builder(Protocol):
    """What `from_onnx` builds with. The importer implements it."""

    def emit(self, op: str, inputs: Sequence[Value | None], name: str = "", **attrs: Any) -> Value:
        """Append a node with one output, its type inferred; `name` is a hint for the output's."""

    def emit_all(
        self, op: str, inputs: Sequence[Value | None], name: str = "", **attrs: Any
    ) -> list[Value]:
        """As `emit`, of an operator with several outputs: all of them."""

    def constant(self, array: Array, name: str = "") -> Value: ...

    def transpose(self, x: Value, perm: Sequence[int]) -> Value:
        """`x` permuted; constants are permuted at once, an identity returns `x`."""

    def reshape(self, x: Value, shape: Sequence[int]) -> Value: ...

    def label(self, x: Value, labels: Sequence[str]) -> Value:
        """`x` as a new value with labels: of int32 what a number stands for, else its columns."""

    def bounded(self, x: Value, count: Value, axis: int) -> Value:
        """`x`, of whose indices along an axis only the first are in use: as many as `count` says,
        int32[1]."""

    def labels_of(self, x: Value) -> tuple[str, ...] | None:
        """The labels that `x` was given; None without."""

    def rounded_to(self, x: Value) -> int | None:
        """The element type of ONNX that a Cast brought the values of `x` to; None without."""


class Blob(Protocol):
    """Where `lower` puts constants. Identical arrays share their bytes."""

    def add(self, *arrays: Array, align: int = 4) -> int:
        """Append the arrays' bytes back to back, aligned; return the offset of the first, which is
        to be a parameter as it is: the bytes may lie elsewhere in the next file."""


@dataclass(frozen=True)
class Lowered:
    """An operator as the file holds it. Parameters by flattened name, e.g. "geometry.in_h".

    `operands` are the inputs the runtime reads as tensors, in order (weights are in the blob and
    not among them; a constant operand such as the b of an Add is). Parameters that the element type
    has no use for may be left out: they are 0, or no offset in the blob. Limits of the output may
    not.
    """

    kind: OpKind
    params: Mapping[str, int | float]
    operands: list[Value | None]

    def __post_init__(self) -> None:
        object.__setattr__(self, "params", {**_unused(self.kind), **self.params})


@cache
def _unused(kind: OpKind) -> Mapping[str, int | float]:
    """What parameters are that may be left out."""
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
    """Why `compute` refuses these arguments with a ValueError; None if it does not."""
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
    """The layout rule of an operator with attributes that have a value for each axis."""
    return MappingProxyType(dict.fromkeys(names, "each"))


class OpDef(ABC):
    """One operator of the IR.

    name        in the IR
    onnx        ONNX operators it is read from ("ai.onnx.ml.Scaler" for other domains)
    exactness   'exact': float results equal onnxruntime's; 'rounding': within rtol 1e-4
    weight      input that is quantized symmetric per output channel (axis 0), e.g. 1
    bias        input that becomes int32 with scale input_scale * weight_scale[channel]
    real_constants  inputs that are float32 constants on integers too
    inner_weight  the one of them that the operator rounds, to 8 bits or as its attribute `storage`
                says
    fn          the function of the runtime that it computes, of element pairs or alone; or None
    shared      all dynamic inputs and the output must have one QuantParams
    layout      how attributes change where all axes are permuted: "axis": it names one; "axes": it
                names some, which must stay neighbours; "each": it has a value for each axis. None:
                the operator has a layout of its own
    broadcasts  inputs of fewer or smaller axes are repeated along the output's
    view        the output is the input's memory: nothing runs
    selects     the output's elements are the inputs', unrounded
    channelwise what passes through it channel by channel, the last axis, without padding:
                "scale": f(s x) = s f(x) for s > 0; "shift": f(x + c) = f(x) + c; "order": on
                integers it is monotone
    keeps_order along its axis the output has the input's order
    heavy       its sums of products are most of the work of a model that has it
    precisions  the integer ones that its integer form has
    wide        whether it takes tensors of 64 bits
    reals       the floats that it computes in; whatever else is cast to float32 before it
    float_only  why no node has an int8 kernel (though a table, maybe); None if it has
    inplace     inputs whose memory output 0 may take over (same bytes, read before written)
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
        """The input with constant weights, whoever rounds them."""
        return self.inner_weight if self.weight is None else self.weight

    def from_onnx(self, b: Builder, node: OnnxNode) -> list[Value]:
        """Emit IR for an ONNX node and return its outputs; raise Unsupported to refuse."""
        raise NotImplementedError(f"{self.name} is not read from ONNX")

    @abstractmethod
    def infer(self, node: Node) -> list[TensorType]:
        """Types of the outputs from inputs and attributes. Raises ValueError on an illegal node."""

    def integer_problem(self, node: Node) -> str | None:
        """Why this float node cannot be of integers, whatever their precision; None if it can."""
        return self.float_only

    def problem(self, node: Node, precision: Precision) -> str | None:
        """Why this float node cannot run at an integer precision; None if it can."""
        if precision.weight_bits not in {p.weight_bits for p in self.precisions}:
            return f"{self.name} has no {precision.weight_bits}-bit weights"
        if type(self).integer is OpDef.integer:
            return "it has no integer form"
        if precision not in self.precisions:
            return f"{self.name} has no {precision.activations} form"
        return self.integer_problem(node)

    def sizes(self, node: Node) -> tuple[OpKind, dict[str, int | float]] | None:
        """The kind of a sum of products and the parameters that say how many there are, as `lower`
        has them; None for what is none."""
        return None

    def macs(self, node: Node) -> int:
        """Multiply-accumulates of a run, padding counted; 0 for what is no sum of products."""
        sizes = self.sizes(node)
        return 0 if sizes is None else macs(*sizes)

    def sums_channels(self, node: Node) -> bool:
        """Whether each output sums over all channels of the input, times weights."""
        return False

    def accumulator_problem(self, node: Node) -> str | None:
        """Why an integer node's scales and constants leave the arithmetic; None if they do not."""
        return None

    def fixed_output(self, node: Node, dtype: np.dtype[Any]) -> QuantParams | None:
        """The output quantization of `dtype`, int8 or int16, that the operator dictates, if any."""
        return None

    def takes_missing(self, node: Node) -> bool:
        """Whether NaN among a node's inputs is a missing value that it has an answer for."""
        return False

    def inside(self, node: Node) -> dict[str, Node]:
        """What integers need ranges of besides inputs and outputs: float nodes whose outputs are
        that, by the attribute that its QuantParams become."""
        return {}

    def alone(self, node: Node, i: int) -> Node:
        """A node whose only output is the i-th of a node with several."""
        raise NotImplementedError(f"{self.name} has one output")

    def table(self, node: Node) -> Callable[[NDArray[np.float64]], NDArray[np.float64]] | None:
        """For a unary function: itself in double, to be made a 256-entry table on int8."""
        return None

    def compacted(self, node: Node) -> tuple[dict[str, Any], str] | None:
        """Of a node that a quantized model keeps on float tensors: attributes with integers inside,
        and what a user is told. None if it has none."""
        return None

    def integer(self, node: Node, inputs: list[Array | None]) -> list[Array]:
        """The meaning on integers, in plain numpy: what every kernel must match bit for bit."""
        raise NotImplementedError(f"{self.name} has no integer form")

    @abstractmethod
    def lower(self, node: Node, blob: Blob) -> Lowered:
        """The runtime's operator for this node, by the dtype of its input: float32, int8, int16."""


@dataclass(frozen=True)
class Activation:
    """A fused clamp, kept in the attrs act_min and act_max (real numbers)."""

    low: float = field(default=-np.inf)
    high: float = field(default=np.inf)

    @staticmethod
    def of(node: Node) -> Activation:
        return Activation(node.attrs.get("act_min", -np.inf), node.attrs.get("act_max", np.inf))

    def q_range(self, q: QuantParams) -> tuple[int, int]:
        """(qmin, qmax) of the clamp in the output's quantization."""

        def to_q(real: float, otherwise: int) -> int:
            if not np.isfinite(real):
                return otherwise
            return int(np.clip(round(real / q.scalar) + q.zero_point, q.qmin, q.qmax))

        return to_q(self.low, q.qmin), to_q(self.high, q.qmax)

    def limits(self, q: QuantParams | None) -> dict[str, int]:
        """The fields qmin and qmax of an output quantized by `q`, or of float32 without."""
        if q is None:
            return {"qmin": float_bits(self.low), "qmax": float_bits(self.high)}
        qmin, qmax = self.q_range(q)
        return {"qmin": qmin, "qmax": qmax}

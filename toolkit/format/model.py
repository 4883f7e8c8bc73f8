"""An .edge file as plain data: what the writer takes and the reader returns (docs/format.md)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

import numpy as np

from ..ir import Shape
from ..numerics import ELEMENTS
from .schema import FORMS, VARIANT, DType, OpKind, Place, WeightCodec
from .varying import Symbol

FORMAT_VERSION = 3
IDENTIFIER = b"EDGE"
BLOB_ALIGN = 64
ABSENT = 0xFFFF

NUMPY_OF: dict[DType, np.dtype[Any]] = {DType[e.in_file]: e.numpy for e in ELEMENTS if e.in_file}
DTYPE_OF: dict[np.dtype[Any], DType] = {v: k for k, v in NUMPY_OF.items()}


@dataclass(frozen=True)
class TensorRecord:
    """A tensor's place and meaning. `scale` 0 means not quantized; bytes follow from the shape."""

    shape: Shape
    dtype: DType
    place: Place
    offset: int
    scale: float = 0.0
    zero_point: int = 0

    @property
    def nbytes(self) -> int:
        return prod(self.shape) * NUMPY_OF[self.dtype].itemsize


def is_variant(kind: OpKind, params: Mapping[str, int | float], output: DType | None) -> bool:
    """Whether an operator is its kind's variant: a depthwise convolution, or one from float32."""
    if kind == OpKind.Conv2d:
        groups, *channels = (params[f"geometry.{n}"] for n in ("groups", "in_c", "out_c"))
        return groups > 1 and channels == [groups, groups]
    return kind == OpKind.Dequantize and output != DType.Float32


@dataclass(frozen=True)
class OpRecord:
    """An operator: tensor indices of its operands, parameters by flattened name."""

    kind: OpKind
    name: str  # of its first output
    inputs: tuple[int, ...]  # ABSENT where an optional input is missing
    outputs: tuple[int, ...]
    params: dict[str, int | float]
    scratch_offset: int = 0
    scratch_bytes: int = 0

    @property
    def is_coded(self) -> bool:
        """Whether its weights lie in the blob behind a codec."""
        return self.codec != WeightCodec.Plain

    def is_variant(self, tensors: Sequence[TensorRecord]) -> bool:
        """Whether it is its kind's variant."""
        output = tensors[self.outputs[0]].dtype if self.outputs else None
        return is_variant(self.kind, self.params, output)

    def number(self, tensors: Sequence[TensorRecord]) -> int:
        """What says in the file which kind it is, and whether the variant."""
        return self.kind + VARIANT * self.is_variant(tensors)

    def element(self, tensors: Sequence[TensorRecord]) -> DType | None:
        """The element type that it computes in; None for a kind that takes any."""
        if (self.kind, False, None) in FORMS:
            return None
        return tensors[(self.outputs if self.is_variant(tensors) else self.inputs)[0]].dtype

    @property
    def codec(self) -> WeightCodec:
        """How its weights are stored."""
        return WeightCodec(int(self.params.get("codec.id", WeightCodec.Plain)))

    def body(self, tensors: Sequence[TensorRecord]) -> tuple[OpKind, bool, DType | None]:
        """Kind, whether it is the variant, element type: what says which code runs it."""
        return self.kind, self.is_variant(tensors), self.element(tensors)

    def form(self, tensors: Sequence[TensorRecord]) -> str:
        """The name of its C file in runtime_c/src/ops. KeyError if there is none."""
        return FORMS[self.body(tensors)]


@dataclass(frozen=True)
class IoRecord:
    """An input or output as the user of the ONNX model knows it.

    `axes`: the ONNX model's in the order in which the device has them; empty: the same order.
    """

    name: str
    tensor: int
    onnx_dtype: int
    shape: Shape
    labels: tuple[str, ...] = ()  # ir.Port.labels
    counted_by: int = 0  # 1 + the output that says how many indices are in use, or 0
    counted_axis: int = 0
    axes: tuple[int, ...] = ()

    @property
    def held_shape(self) -> Shape:
        """As the device has it."""
        return tuple(self.shape[a] for a in self.axes) if self.axes else self.shape


@dataclass(frozen=True)
class StateRecord:
    """A persistent tensor, and the input and output of the ONNX model that it stands for."""

    input: str
    output: str
    tensor: int


@dataclass(frozen=True)
class Memory:
    """Bytes the runtime needs, and the work of one run."""

    macs: int
    arena_bytes: int
    scratch_bytes: int
    persistent_bytes: int
    arena_bound_bytes: int


@dataclass(frozen=True)
class Provenance:
    """Where a file comes from. Hashes are SHA-256 in hex; options are JSON."""

    producer: str = ""
    model_sha256: str = ""
    calibration_sha256: str = ""
    options: str = "{}"

    @property
    def settings(self) -> dict[str, Any]:
        """The options, read. Raises ValueError where they are no JSON object."""
        found = json.loads(self.options or "{}")
        if not isinstance(found, dict):
            raise ValueError("Provenance.options is no JSON object")
        return found


@dataclass(frozen=True)
class Start:
    """What a persistent tensor holds before the first run: its bytes from `initial` on in the blob,
    or the first `period` of them again and again, where that is not 0.
    """

    initial: int
    period: int = 0


@dataclass(frozen=True)
class EdgeModel:
    """The whole file."""

    tensors: list[TensorRecord]
    ops: list[OpRecord]
    inputs: list[IoRecord]
    outputs: list[IoRecord]
    memory: Memory
    blob: bytes
    target: str = "generic"
    provenance: Provenance = field(default_factory=Provenance)
    pruned: dict[int, tuple[bool, ...]] = field(default_factory=dict)  # by operator index
    version: int = FORMAT_VERSION
    placement: tuple[bool, ...] = ()  # by operator: on the accelerator; empty: all on the CPU
    starts: dict[int, Start] = field(default_factory=dict)  # by persistent tensor
    states: list[StateRecord] = field(default_factory=list)
    empty_inputs: list[IoRecord] = field(default_factory=list)  # without elements, of tensor 0
    empty_outputs: list[IoRecord] = field(default_factory=list)
    symbols: tuple[Symbol, ...] = ()  # of the numbers in shapes and parameters that are `Varying`

    def element(self, op: OpRecord) -> DType | None:
        """The element type that `op` computes in; None for a kind that takes any."""
        return op.element(self.tensors)

    def custom_name(self, op: OpRecord) -> str:
        """domain::operator of an operator of the user's. Raises ValueError for one without."""
        at = int(op.params["name"])
        text = self.blob[at : at + int(op.params["name_bytes"])]
        if not text.endswith(b"\0"):
            raise ValueError("an operator of the user's without a name")
        return text[:-1].decode(errors="replace")

    @property
    def op_names(self) -> list[str]:
        """What people call each operator; "#0" and so on in a file without names."""
        return [op.name or f"#{i}" for i, op in enumerate(self.ops)]

"""Files and bytes -> a checked model, with the errors a user can act on."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, field
from math import prod
from pathlib import Path

import numpy as np
import onnx
from google.protobuf.message import DecodeError

from ..errors import UnsupportedError, UserError
from ..files import read_file
from ..format.model import IDENTIFIER
from ..ir import Array
from .limits import FILE_BYTES, LARGE_TENSOR, MIB, WEIGHT_BYTES
from .maps import Columns, rows_for_maps
from .onnx_process import Onnx, OnnxError
from .subgraphs import sort_nodes

_EXTERNAL = onnx.TensorProto.EXTERNAL
_EQUATION = re.compile(rb"[A-Za-z.,\s]*(->[A-Za-z.\s]*)?")
_MODEL_START = 0x08  # field 1 of ModelProto, ir_version


@dataclass
class OnnxModel:
    """A model as onnx has checked it. `label` is what to call it in messages.

    Large initializers are in `weights`; in `proto` they are inputs: so it stays small, whatever the
    size of the model, and can be handed to `engine`.
    """

    label: str
    proto: onnx.ModelProto
    engine: Onnx
    weights: dict[str, Array] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    """What a user should know of how it was read."""
    chosen_shapes: list[str] = field(default_factory=list)
    """The --shape of each input whose dimensions the model leaves open."""
    columns: Columns = field(default_factory=dict)
    """Of inputs that are maps in ONNX."""

    @property
    def shape_remedy(self) -> str:
        """What to do if a layer does not fit `chosen_shapes`; empty if there are none."""
        chosen = " ".join(self.chosen_shapes)
        return f"give sizes other than {chosen}" if chosen else ""

    def real_inputs(self) -> Iterator[onnx.ValueInfoProto]:
        """Inputs that the user feeds: those without an initializer."""
        graph = self.proto.graph
        constants = {t.name for t in graph.initializer}
        constants |= {t.values.name for t in graph.sparse_initializer}
        return (i for i in graph.input if i.name not in constants and i.name not in self.weights)


def read_model(source: str | Path | bytes | onnx.ModelProto) -> OnnxModel:
    """The model with all its data. The caller's model is copied.

    Raises UserError: no such file, empty, not ONNX, truncated, external data missing, invalid.
    """
    if isinstance(source, onnx.ModelProto):
        label, folder, proto = source.graph.name or "the model", None, onnx.ModelProto()
        proto.CopyFrom(source)
        size = proto.ByteSize()
    elif isinstance(source, bytes):
        label, folder = "the model", None
        proto, size = _parse(label, source), len(source)
    else:
        label, folder = str(source), Path(source).parent
        data = read_file(source, "an ONNX model", FILE_BYTES)
        proto, size = _parse(label, data), len(data)
    _load_external(label, proto, folder)
    sort_nodes(proto.graph.node)
    weights = _take_weights(label, proto)
    size = max(size, sum(a.nbytes for a in weights.values()))
    model = OnnxModel(label, proto, Onnx(label, size), weights)
    _check(model)
    model.columns, problems = rows_for_maps(proto.graph)
    if problems:
        raise UnsupportedError(label, problems)
    model.notes += [
        f"input '{name}' is a map in ONNX; it takes a dict, or the values as a row of {len(names)}"
        for name, names in model.columns.items()
        if names
    ]
    return model


def _take_weights(label: str, proto: onnx.ModelProto) -> dict[str, Array]:
    """Large initializers, moved out of `proto`: inputs stand for them there."""
    graph = proto.graph
    inputs = {i.name for i in graph.input}
    weights: dict[str, Array] = {}
    kept: list[onnx.TensorProto] = []
    for tensor in graph.initializer:
        if not _is_large(tensor):
            kept.append(tensor)
            continue
        if tensor.name in weights:
            raise UserError(
                f"{label}: is not a valid ONNX model: two initializers are named '{tensor.name}'"
            )
        try:
            weights[tensor.name] = onnx.numpy_helper.to_array(tensor)
        except (ValueError, TypeError, KeyError) as why:
            raise UserError(
                f"{label}: is not a valid ONNX model: initializer '{tensor.name}' is damaged: "
                f"{sentence(why)}"
            ) from why
        if tensor.name not in inputs:
            graph.input.append(
                onnx.helper.make_tensor_value_info(tensor.name, tensor.data_type, tensor.dims)
            )
    if weights:
        small = [onnx.TensorProto.FromString(t.SerializeToString()) for t in kept]
        graph.ClearField("initializer")
        graph.initializer.extend(small)
    return weights


def _is_large(tensor: onnx.TensorProto) -> bool:
    """By its shape: protobuf counts up to 2 GiB. What is damaged is left to the checker."""
    if tensor.data_type == onnx.TensorProto.STRING or any(d < 0 for d in tensor.dims):
        return False
    try:
        dtype = np.dtype(onnx.helper.tensor_dtype_to_np_dtype(tensor.data_type))
    except (KeyError, TypeError, ValueError):
        return False
    return bool(prod(tensor.dims) * dtype.itemsize >= LARGE_TENSOR)


def _check(model: OnnxModel) -> None:
    label, proto = model.label, model.proto
    ports = [p.type.tensor_type for p in (*proto.graph.input, *proto.graph.output)
             if p.type.HasField("tensor_type")]  # fmt: skip
    # Exporters leave out shapes, and onnxruntime takes that; the checker does not.
    bare = [port for port in ports if not port.HasField("shape")]
    for port in bare:
        port.shape.SetInParent()
    try:
        model.engine.check(proto)
    except (OnnxError, ValueError) as why:
        if isinstance(why, UserError):
            raise
        raise UserError(f"{label}: is not a valid ONNX model: {sentence(why)}") from why
    finally:
        for port in bare:
            port.ClearField("shape")
    if not proto.graph.output:
        raise UserError(f"{label}: the model has no outputs; export it again")
    names = [o.name for o in proto.graph.output]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise UserError(f"{label}: is not a valid ONNX model: two outputs are named '{twice}'")
    for node in proto.graph.node:
        # protobuf hands out text that is not UTF-8 as bytes.
        texts = (node.domain, node.op_type, node.name, *node.input, *node.output)
        if not all(isinstance(text, str) for text in texts):
            raise UserError(f"{label}: is not a valid ONNX model: a name is not text: {texts}")
        # onnx's shape inference loops for ever on an equation that is none.
        for a in node.attribute:
            if node.op_type == "Einsum" and not _EQUATION.fullmatch(a.s):
                raise UserError(f"{label}: is not a valid ONNX model: Einsum of {a.s!r}")


def refuse_edge(label: str, beginning: bytes) -> None:
    """Raise UserError if a file with this beginning is an .edge file."""
    if beginning[4:8] == IDENTIFIER:
        raise UserError(
            f"{label} is an .edge file already; give the ONNX model that it was made from. "
            f"To see its contents: edgekit inspect {shlex.quote(label)}"
        )


def _parse(label: str, data: bytes) -> onnx.ModelProto:
    if not data:
        raise UserError(f"{label}: the file is empty; give an ONNX model")
    refuse_edge(label, data)
    try:
        model = onnx.load_model_from_string(data)
    except DecodeError as why:
        if data[0] == _MODEL_START:
            raise UserError(
                f"{label}: the ONNX model is truncated or damaged ({len(data)} bytes); "
                "copy or export it again"
            ) from why
        raise UserError(f"{label}: is not an ONNX model") from why
    if not model.HasField("graph"):
        raise UserError(f"{label}: is not an ONNX model: it has no graph")
    return model


def _load_external(label: str, model: onnx.ModelProto, folder: Path | None) -> None:
    tensors = [t for t in _tensors(model.graph) if t.data_location == _EXTERNAL]
    for function in model.functions:
        tensors += [t for t in _of_nodes(function.node) if t.data_location == _EXTERNAL]
    if not tensors:
        return
    first = tensors[0].name
    if folder is None:
        raise UserError(f"{label}: tensor '{first}' is in an external file; give the path of the "
                        "model")  # fmt: skip
    total = sum(_bytes_of(label, t) for t in tensors)
    if total > WEIGHT_BYTES:
        raise UserError(
            f"{label}: its external data takes {total // MIB} MiB; at most {WEIGHT_BYTES // MIB} "
            "MiB are supported"
        )
    try:
        for tensor in tensors:
            if not any(entry.key == "length" for entry in tensor.external_data):
                length = tensor.external_data.add()
                length.key, length.value = "length", str(_bytes_of(label, tensor))
            onnx.external_data_helper.load_external_data_for_tensor(tensor, str(folder))
            tensor.data_location = onnx.TensorProto.DEFAULT
            del tensor.external_data[:]
    except (OSError, ValueError, onnx.checker.ValidationError) as why:
        raise UserError(
            f"{label}: the external data of {len(tensors)} tensor(s), '{first}' first, cannot be "
            f"read: {sentence(why)}; put the data file next to the model"
        ) from why


def _tensors(graph: onnx.GraphProto) -> Iterator[onnx.TensorProto]:
    yield from graph.initializer
    yield from _of_nodes(graph.node)


def _of_nodes(nodes: list[onnx.NodeProto]) -> Iterator[onnx.TensorProto]:
    for node in nodes:
        for a in node.attribute:
            yield from (*([a.t] if a.HasField("t") else []), *a.tensors)
            for inner in (*([a.g] if a.HasField("g") else []), *a.graphs):
                yield from _tensors(inner)


def _bytes_of(label: str, tensor: onnx.TensorProto) -> int:
    """What the tensor takes in its file, by its shape."""
    try:
        dtype = np.dtype(onnx.helper.tensor_dtype_to_np_dtype(tensor.data_type))
    except (KeyError, TypeError, ValueError) as why:
        raise UserError(
            f"{label}: is not a valid ONNX model: external tensor '{tensor.name}' is of type "
            f"{tensor.data_type}"
        ) from why
    if any(d < 0 for d in tensor.dims):
        raise UserError(
            f"{label}: is not a valid ONNX model: external tensor '{tensor.name}' is of shape "
            f"{list(tensor.dims)}"
        )
    return int(prod(tensor.dims) * dtype.itemsize)


def sentence(why: Exception) -> str:
    """The first lines of a checker's message, on one line."""
    lines = [line.strip() for line in str(why).splitlines() if line.strip()]
    return " ".join(lines[:2])[:400]

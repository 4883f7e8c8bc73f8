"""Files and bytes -> a checked ModelProto, with the errors a user can act on."""

from __future__ import annotations

import re
from pathlib import Path

import onnx
from google.protobuf.message import DecodeError

from ..errors import UserError
from ..files import read_file

_EXTERNAL = onnx.TensorProto.EXTERNAL
_EQUATION = re.compile(rb"[A-Za-z.,\s]*(->[A-Za-z.\s]*)?")
_MODEL_START = 0x08  # field 1 of ModelProto, ir_version


def read_model(source: str | Path | bytes | onnx.ModelProto) -> tuple[str, onnx.ModelProto]:
    """(what to call it in messages, the model with all its data). The caller's model is copied.

    Raises UserError: no such file, empty, not ONNX, truncated, external data missing, invalid.
    """
    if isinstance(source, onnx.ModelProto):
        label, folder, model = source.graph.name or "the model", None, onnx.ModelProto()
        model.CopyFrom(source)
    elif isinstance(source, bytes):
        label, folder = "the model", None
        model = _parse(label, source)
    else:
        label, folder = str(source), Path(source).parent
        model = _parse(label, read_file(source, "an ONNX model"))
    _load_external(label, model, folder)
    _check(label, model)
    return label, model


def _check(label: str, model: onnx.ModelProto) -> None:
    ports = [p.type.tensor_type for p in (*model.graph.input, *model.graph.output)
             if p.type.HasField("tensor_type")]  # fmt: skip
    # Exporters leave out shapes, and onnxruntime takes that; the checker does not.
    bare = [port for port in ports if not port.HasField("shape")]
    for port in bare:
        port.shape.SetInParent()
    try:
        onnx.checker.check_model(model)
    except (onnx.checker.ValidationError, ValueError) as why:  # ValueError: damaged text or fields
        raise UserError(f"{label}: is not a valid ONNX model: {_sentence(why)}") from why
    finally:
        for port in bare:
            port.ClearField("shape")
    for node in model.graph.node:
        # protobuf hands out text that is not UTF-8 as bytes.
        texts = (node.domain, node.op_type, node.name, *node.input, *node.output)
        if not all(isinstance(text, str) for text in texts):
            raise UserError(f"{label}: is not a valid ONNX model: a name is not text: {texts}")
        # onnx's shape inference loops for ever on an equation that is none.
        for a in node.attribute:
            if node.op_type == "Einsum" and not _EQUATION.fullmatch(a.s):
                raise UserError(f"{label}: is not a valid ONNX model: Einsum of {a.s!r}")


def _parse(label: str, data: bytes) -> onnx.ModelProto:
    if not data:
        raise UserError(f"{label}: the file is empty; give an ONNX model")
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
    names = [t.name for t in model.graph.initializer if t.data_location == _EXTERNAL]
    if not names:
        return
    if folder is None:
        raise UserError(
            f"{label}: tensor '{names[0]}' is in an external file; give the path of the model"
        )
    try:
        onnx.load_external_data_for_model(model, str(folder))
    except (OSError, ValueError, onnx.checker.ValidationError) as why:
        raise UserError(
            f"{label}: the external data of {len(names)} tensor(s), '{names[0]}' first, cannot be "
            f"read: {_sentence(why)}; put the data file beside the model"
        ) from why


def _sentence(why: Exception) -> str:
    """The first lines of a checker's message, on one line."""
    lines = [line.strip() for line in str(why).splitlines() if line.strip()]
    return " ".join(lines[:2])[:400]

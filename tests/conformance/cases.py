"""The official test cases of ONNX, as the onnx package brings them, and one run of one of them."""

from __future__ import annotations

import os
import tempfile
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import numpy_helper

import edgekit
from edgekit.toolkit.errors import UserError

SUITES = ("node", "simple", "pytorch-converted", "pytorch-operator")
"""Of onnx.backend.test; "real" and "light" need downloads."""

DataSet = tuple[Sequence[Any], Sequence[Any]]


@dataclass(frozen=True)
class Case:
    """A model, what it is fed and what it answers, within tolerances that the case sets."""

    name: str
    suite: str
    model: onnx.ModelProto
    data_sets: Sequence[DataSet]
    rtol: float
    atol: float

    @property
    def beyond(self) -> str:
        """Why the case is none of tensors in inference; empty if it is."""
        nodes = list(self.model.graph.node)
        if any("training" in n.domain for n in nodes) or "training" in self.name:
            return "training"
        if any(a.name == "training_mode" and a.i for n in nodes for a in n.attribute):
            return "training"
        ports = [*self.model.graph.input, *self.model.graph.output]
        if any(not p.type.HasField("tensor_type") for p in ports):
            return "sequences and optional values"
        if any(p.type.tensor_type.elem_type == onnx.TensorProto.STRING for p in ports):
            return "strings"
        if any(n.op_type.startswith(("Sequence", "Optional")) for n in nodes):
            return "sequences and optional values"
        return ""


@dataclass(frozen=True)
class Outcome:
    """`status`: passed, refused (a sentence that names the remedy), wrong, or broken; why."""

    status: str
    why: str = ""


@cache
def all_cases() -> tuple[Case, ...]:
    """Every case, in a fixed order. Takes some seconds: onnx computes the node cases."""
    from onnx.backend.test.loader import load_model_tests

    found: list[Case] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # they divide by zero on purpose
        for suite in SUITES:
            for t in load_model_tests(kind=suite):
                model = t.model or onnx.load(os.path.join(t.model_dir, "model.onnx"))
                data = t.data_sets or _stored(Path(t.model_dir), model)
                found.append(Case(t.name, suite, model, data, t.rtol, t.atol))
    return tuple(found)


def _stored(folder: Path, model: onnx.ModelProto) -> list[DataSet]:
    sets: list[DataSet] = []
    for one in sorted(folder.glob("test_data_set_*")):
        ins = [_read(one / f"input_{i}.pb", p.type) for i, p in enumerate(_fed(model))]
        outs = [_read(one / f"output_{i}.pb", p.type) for i, p in enumerate(model.graph.output)]
        sets.append((ins, outs))
    return sets


def _fed(model: onnx.ModelProto) -> list[onnx.ValueInfoProto]:
    """The inputs that no initializer gives."""
    given = {t.name for t in model.graph.initializer}
    return [p for p in model.graph.input if p.name not in given]


def _read(path: Path, kind: onnx.TypeProto) -> Any:
    data = path.read_bytes()
    if kind.HasField("sequence_type"):
        return numpy_helper.to_list(onnx.SequenceProto.FromString(data))
    if kind.HasField("optional_type"):
        return numpy_helper.to_optional(onnx.OptionalProto.FromString(data))
    return numpy_helper.to_array(onnx.TensorProto.FromString(data))


def attempt(case: Case) -> Outcome:
    """Convert the case's file, run the .edge file, compare."""
    with tempfile.TemporaryDirectory() as folder:
        path, edge = Path(folder, "model.onnx"), Path(folder, "model.edge")
        path.write_bytes(case.model.SerializeToString())
        try:
            edgekit.convert(path, edge)
            session = edgekit.Session(edge)
            for inputs, outputs in case.data_sets:
                if why := _difference(case, session, inputs, outputs):
                    return Outcome("wrong", why)
        except UserError as why:
            return Outcome("refused", str(why).replace(str(path), "model.onnx"))
        except Exception as why:
            return Outcome("broken", f"{type(why).__name__}: {why}")
    return Outcome("passed")


def _array(value: Any) -> np.ndarray[Any, Any]:
    """What a case gives: element types that numpy lacks come as TensorProto."""
    is_proto = isinstance(value, onnx.TensorProto)
    return numpy_helper.to_array(value) if is_proto else np.asarray(value)


def _difference(
    case: Case, session: edgekit.Session, inputs: Sequence[Any], outputs: Sequence[Any]
) -> str:
    feed = {p.name: _array(v) for p, v in zip(_fed(case.model), inputs, strict=True)}
    found = session.run(feed)
    for p, value in zip(case.model.graph.output, outputs, strict=True):
        got, want = found[p.name], _array(value)
        if got.dtype != want.dtype or got.shape != want.shape:
            return f"{p.name} is {got.dtype}{list(got.shape)}, not {want.dtype}{list(want.shape)}"
        if want.dtype.kind == "V":  # element types of ml_dtypes, which numpy cannot compare
            got, want = got.astype(np.float64), want.astype(np.float64)
        try:
            np.testing.assert_allclose(got, want, case.rtol, case.atol)
        except AssertionError as why:
            return f"{p.name}: " + " ".join(str(why).split())[:300]
    return ""

"""The float truth: onnxruntime if it is installed, else our own runtime on the float model."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from ..build import build_file
from ..errors import UserError
from ..ir import Array, Graph
from ..numerics import STRING
from ..ops import is_a
from ..ops.custom.definition import Custom
from ..runtime import Session


class Oracle(Protocol):
    """Runs the float model; `name` says what does."""

    name: str

    def run(self, feed: Mapping[str, Array]) -> dict[str, Array]:
        """Outputs by ONNX name."""


class OnnxRuntime:
    """onnxruntime on the CPU, single-threaded and without fast approximations."""

    def __init__(self, model: str | Path | bytes, graph: Graph) -> None:
        import onnxruntime

        self.name = f"onnxruntime {onnxruntime.__version__}"
        self._labels = {p.name: p.labels for p in graph.outputs if p.labels}
        of_text = [p for p in graph.inputs if p.labels and p.onnx_dtype == STRING]
        self._texts = {p.name: np.array(p.labels) for p in of_text}
        self._columns = {p.name: p.labels for p in graph.inputs if p.name not in self._texts}

        self._source: Any = model if isinstance(model, bytes) else str(model)
        self._session, self._exact = self._opened(exact=True), True
        self._constants = dict(graph.constant_inputs)
        self._outputs = [o.name for o in self._session.get_outputs()]
        self._maps = {i.name: i.type for i in self._session.get_inputs() if i.type[:4] == "map("}

    def run(self, feed: Mapping[str, Array]) -> dict[str, Array]:
        try:
            given = {k: self._given(k, v) for k, v in feed.items()}
            results = self._results(given | self._constants)
        except Exception as why:  # onnxruntime's errors have no common base but this
            raise UserError(f"onnxruntime cannot run the float model: {why}") from why
        return {n: self._numbers(n, r) for n, r in zip(self._outputs, results, strict=True)}

    def _opened(self, exact: bool) -> Any:
        """A session; if it is `exact`, its sums of int8 do not saturate on x86-64 without VNNI."""
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.log_severity_level = 4
        if exact:
            options.add_session_config_entry("session.x64quantprecision", "1")
        try:
            return onnxruntime.InferenceSession(
                self._source, options, providers=["CPUExecutionProvider"]
            )
        except Exception as why:  # as above
            if exact:  # it makes QLinearConv of int8 one that it has no kernel for
                return self._opened(exact=False)
            raise UserError(f"onnxruntime cannot load the float model: {why}") from why

    def _results(self, feed: dict[str, Any]) -> Any:
        try:
            return self._session.run(self._outputs, feed)
        except Exception:  # as above, of channels last
            if not self._exact:
                raise
            self._session, self._exact = self._opened(exact=False), False
            return self._session.run(self._outputs, feed)

    def _given(self, name: str, array: Array) -> Any:
        if name in self._maps:
            names = self._columns[name] or tuple(map(str, range(array.size)))
            whole = self._maps[name].startswith("map(int64")
            values = zip(names, array.ravel().tolist(), strict=True)
            return {int(key) if whole else key: value for key, value in values}
        if name not in self._texts or array.dtype.kind not in "iu":
            return array
        return np.append(self._texts[name], "")[array].astype(object)

    def _numbers(self, name: str, result: Any) -> Array:
        """Strings as the numbers of their labels, maps as rows of their values."""
        labels = self._labels.get(name)
        if labels is None:
            return np.asarray(result)
        if isinstance(result, list):
            rows = [{str(k): v for k, v in row.items()} for row in result]
            return np.array([[row[label] for label in labels] for row in rows], np.float32)
        known = {label: i for i, label in enumerate(labels)}
        return np.array([known.get(t, -1) for t in result.ravel()], np.int64).reshape(result.shape)


class OwnRuntime:
    """edgekit's float32 runtime, on a graph or in a session of one."""

    name = "edgekit float32"

    def __init__(self, floats: Graph | Session) -> None:
        if isinstance(floats, Graph):
            floats = Session(build_file(floats), max_memory=None, numbers=True)
        self._session = floats

    def run(self, feed: Mapping[str, Array]) -> dict[str, Array]:
        return self._session.run(feed)


def make_oracle(model: str | Path | bytes | None, graph: Graph) -> Oracle:
    """onnxruntime on `model` where both are there and it knows all operators, else our runtime on
    `graph`."""
    if model is not None and not any(is_a(node, Custom) for node in graph.nodes):
        try:
            return OnnxRuntime(model, graph)
        except ImportError:
            pass
    return OwnRuntime(graph)

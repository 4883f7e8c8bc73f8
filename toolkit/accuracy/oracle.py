"""The float truth: onnxruntime if it is installed, else our own runtime on the float model."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from ..build import build_file
from ..errors import UserError
from ..ir import Array, Graph
from ..runtime import Session


class Oracle(Protocol):
    """Runs the float model; `name` says what does."""

    name: str

    def run(self, feed: Mapping[str, Array]) -> dict[str, Array]:
        """Outputs by ONNX name."""


class OnnxRuntime:
    """onnxruntime on the CPU, single-threaded and without fast approximations."""

    def __init__(self, model: str | Path | bytes) -> None:
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.log_severity_level = 4
        source: Any = model if isinstance(model, bytes) else str(model)
        try:
            self._session = onnxruntime.InferenceSession(
                source, options, providers=["CPUExecutionProvider"]
            )
        except Exception as why:  # onnxruntime's errors have no common base but this
            raise UserError(f"onnxruntime cannot load the float model: {why}") from why
        self.name = f"onnxruntime {onnxruntime.__version__}"
        self._outputs = [o.name for o in self._session.get_outputs()]

    def run(self, feed: Mapping[str, Array]) -> dict[str, Array]:
        try:
            results = self._session.run(self._outputs, dict(feed))
        except Exception as why:  # as above
            raise UserError(f"onnxruntime cannot run the float model: {why}") from why
        return {n: np.asarray(r) for n, r in zip(self._outputs, results, strict=True)}


class OwnRuntime:
    """edgekit's float32 runtime."""

    name = "edgekit float32"

    def __init__(self, graph: Graph) -> None:
        self._session = Session(build_file(graph), max_memory=None)

    def run(self, feed: Mapping[str, Array]) -> dict[str, Array]:
        return self._session.run(feed)


def make_oracle(model: str | Path | bytes | None, graph: Graph) -> Oracle:
    """onnxruntime on `model` where both are there, else our runtime on `graph`."""
    if model is not None:
        try:
            return OnnxRuntime(model)
        except ImportError:
            pass
    return OwnRuntime(graph)

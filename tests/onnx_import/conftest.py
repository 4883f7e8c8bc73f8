"""Small ONNX models, and the comparison with onnxruntime."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

from edgekit.toolkit.build import build_file
from edgekit.toolkit.onnx_import import load
from edgekit.toolkit.passes import DEFAULT, run_passes
from edgekit.toolkit.runtime import Session

from .quantized_models import RNG, START

Ports = Mapping[str, tuple[Any, ...]]


@pytest.fixture
def make_model() -> Callable[..., onnx.ModelProto]:
    """make_model(nodes, {input: shape}, [output], constants={name: array}, opset=17)."""

    def make(
        nodes: Sequence[onnx.NodeProto],
        inputs: Ports,
        outputs: Sequence[str],
        constants: Mapping[str, np.ndarray] | None = None,
        opset: int = 17,
        types: Mapping[str, int] | None = None,
        infer: bool = True,
    ) -> onnx.ModelProto:
        types = types or {}

        def info(name: str, shape: tuple[Any, ...] | None) -> onnx.ValueInfoProto:
            return helper.make_tensor_value_info(name, types.get(name, TensorProto.FLOAT), shape)

        graph = helper.make_graph(
            list(nodes),
            "net",
            [info(n, s) for n, s in inputs.items()],
            [info(n, None) for n in outputs],
            [numpy_helper.from_array(np.asarray(a), n) for n, a in (constants or {}).items()],
        )
        model = helper.make_model(
            graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8
        )
        return onnx.shape_inference.infer_shapes(model) if infer else model

    return make


@pytest.fixture
def agree() -> Callable[..., None]:
    """agree(model, feed): imported, with and without passes, it computes what onnxruntime does."""

    def check(model: onnx.ModelProto, feed: Mapping[str, np.ndarray], **options: Any) -> None:
        session = onnxruntime.InferenceSession(model.SerializeToString())
        names = [o.name for o in session.get_outputs()]
        want = dict(zip(names, session.run(None, dict(feed)), strict=True))
        for passes in ((), DEFAULT):
            graph = load(model, **options)
            run_passes(graph, passes)
            got = Session(build_file(graph)).run(feed)
            assert list(got) == names
            for name in names:
                assert (got[name].dtype, got[name].shape) == (want[name].dtype, want[name].shape)
                np.testing.assert_allclose(got[name], want[name], rtol=1e-4, atol=1e-5)

    return check


@pytest.fixture(autouse=True)
def same_numbers():
    """What a test draws does not depend on the tests before it."""
    RNG.bit_generator.state = START

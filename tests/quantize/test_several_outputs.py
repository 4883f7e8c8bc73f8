"""Operators with several outputs, of which some have no range, are quantized."""

from __future__ import annotations

import numpy as np
import onnx
import pytest

import edgekit

MODEL = """<ir_version: 8, opset_import: ["": 17]>
g (float[1,16] x) => (float[1,4] best, int64[1,4] at) <int64[1] k = {4}>
{
  y = Gemm (x, w)
  best, at = TopK <largest: int = LARGEST> (y, k)
}"""


@pytest.mark.parametrize("largest", [0, 1])
def test_the_best_of_integers(tmp_path, largest):
    rng = np.random.default_rng(0)
    model = onnx.parser.parse_model(MODEL.replace("LARGEST", str(largest)))
    w = rng.normal(size=(16, 40)).astype(np.float32)
    model.graph.initializer.append(onnx.numpy_helper.from_array(w, "w"))
    onnx.save(model, tmp_path / "m.onnx")
    x = rng.normal(size=(64, 1, 16)).astype(np.float32)
    done = edgekit.quantize(tmp_path / "m.onnx", [{"x": v} for v in x], tmp_path / "m.edge")
    assert "float32" not in done.ops["TopK"]
    got = edgekit.Session(tmp_path / "m.edge").run({"x": x})
    scores = (1 if largest else -1) * (x[:, 0] @ w)
    want = np.argsort(-scores, axis=1, kind="stable")[:, :4]
    assert np.mean(got["at"].reshape(-1, 4) == want) > 0.9
    picked = np.take_along_axis(x[:, 0] @ w, got["at"].reshape(-1, 4), 1)
    assert np.abs(picked - got["best"].reshape(-1, 4)).max() < 0.1

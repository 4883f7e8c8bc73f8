"""Real models: they compute what onnxruntime computes, and no Transpose is left inside."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

import numpy as np
import onnxruntime
import pytest

from edgekit.toolkit.build import build_file
from edgekit.toolkit.onnx_import import load
from edgekit.toolkit.passes import DEFAULT, run_passes
from edgekit.toolkit.runtime import Session

MODELS = Path(
    os.environ.get("EDGEKIT_MODELS", Path(__file__).resolve().parents[3] / "shared" / "models")
)

# Transposes left: at ports only, where an image of several channels is NCHW.
LEFT = {
    "mlperf_ad_autoencoder": 0,
    "mlperf_ic_resnet8": 0,
    "mlperf_kws_dscnn": 0,
    "mlperf_sww_tcn": 0,
    "mlperf_vww_mobilenetv1": 0,
    "mobilenet_v1_025_224": 0,
    "ultraface_rfb320": 1,
    "fastestdet": 2,
    "super_resolution_x3": 0,
    "mediapipe_selfie_segmentation": 0,
    "mnist_cntk": 0,
    "ml_digits_mlp": 0,
}
FUSED = {"Clip", "Pad", "Expand"}


@pytest.mark.parametrize("name", LEFT)
def test_model(name):
    path = MODELS / name / "model.onnx"
    if not path.exists():
        pytest.skip(f"{path} is not here; set EDGEKIT_MODELS to the folder of models")
    graph = load(path)
    run_passes(graph, DEFAULT)
    count = Counter(n.op for n in graph.nodes)
    assert count["Transpose"] == LEFT[name] and not FUSED & set(count)
    ports = {p.value for p in (*graph.inputs, *graph.outputs)}
    for n in graph.nodes:
        assert n.op != "Transpose" or not ports.isdisjoint((n.input(0), n.output))

    rng = np.random.default_rng(0)
    feed = {p.name: rng.random(p.shape, dtype=np.float32) for p in graph.inputs}
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(path, options)
    got = Session(build_file(graph)).run(feed)
    for port, want in zip(session.get_outputs(), session.run(None, feed), strict=True):
        assert got[port.name].dtype == want.dtype and got[port.name].shape == want.shape
        # Noise in place of a picture may drive a sigmoid to 1e-8: compare with 1, too.
        largest = max(float(np.abs(want).max()), 1e-3)
        np.testing.assert_allclose(got[port.name], want, rtol=0, atol=1e-4 * largest)

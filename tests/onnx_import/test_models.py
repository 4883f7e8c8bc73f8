"""Real models: they compute what onnxruntime computes, and no Transpose is left inside."""

from __future__ import annotations

import importlib.util
import os
from collections import Counter
from pathlib import Path

import numpy as np
import onnx
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


def _with_means(model):
    """The model with ReduceMean for each AveragePool of a whole image: the same numbers."""
    shapes = {
        v.name: [d.dim_value for d in v.type.tensor_type.shape.dim]
        for v in onnx.shape_inference.infer_shapes(model).graph.value_info
    }
    for n in model.graph.node:
        kernel = next((list(a.ints) for a in n.attribute if a.name == "kernel_shape"), None)
        if n.op_type == "AveragePool" and kernel == shapes[n.input[0]][2:]:
            n.op_type = "ReduceMean"
            del n.attribute[:]
            n.attribute.append(onnx.helper.make_attribute("axes", [2, 3]))
    return model


# The collection's reader leaves files to be closed by Python.
@pytest.mark.filterwarnings(
    "ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"
)
def test_selfie_segmentation_on_photos():
    """1e-4 from onnxruntime whose means are exact enough: its AveragePool adds up to 16384 numbers
    one after the other in float32, and is itself 3.5e-4 from its ReduceMean at the output.
    """
    folder = MODELS / "mediapipe_selfie_segmentation"
    if not folder.exists():
        pytest.skip(f"{folder} is not here; set EDGEKIT_MODELS to the folder of models")
    spec = importlib.util.spec_from_file_location("eval_lib", MODELS / "eval_lib.py")
    library = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(library)
    (photos,) = library.load_inputs(str(folder), "eval").values()
    graph = load(folder / "model.onnx")
    name = graph.inputs[0].name
    run_passes(graph, DEFAULT)
    ours = Session(build_file(graph))
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    model = _with_means(onnx.load(folder / "model.onnx"))
    assert sum(n.op_type == "ReduceMean" for n in model.graph.node) == 10
    theirs = onnxruntime.InferenceSession(model.SerializeToString(), options)
    for i in range(len(photos)):
        feed = {name: photos[i : i + 1]}
        (want,) = theirs.run(None, feed)
        (got,) = ours.run(feed).values()
        assert np.abs(got - want).max() <= 1e-4 * np.abs(want).max(), i

"""Networks that divide by a number of very different sizes, as the level of a series: its precision
is that of the quotients, and of outputs that are multiplied by it again."""

from __future__ import annotations

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import numpy_helper

import edgekit
from edgekit.toolkit.model_files import load
from edgekit.toolkit.quantize.scheme.divisors import restored

STEPS, AHEAD, UNITS = 24, 6, 32

SERIES = f"""
<ir_version: 8, opset_import: ["" : 17]>
series (float[1,{STEPS}] x) => (float[1,{AHEAD}] y) {{
  level = ReduceMean <axes = [1]> (x)
  a = Div (x, level)
  b = MatMul (a, w)
  c = Relu (b)
  d = MatMul (c, v)
  y = Mul (d, level)
}}
"""

STANDARDIZED = f"""
<ir_version: 8, opset_import: ["" : 17]>
standardized (float[1,{STEPS}] x) => (float[1,{AHEAD}] y) {{
  tiny = Constant <value_float = 1e-9> ()
  mean = ReduceMean <axes = [1]> (x)
  apart = Sub (x, mean)
  squares = Mul (apart, apart)
  variance = ReduceMean <axes = [1]> (squares)
  more = Add (variance, tiny)
  deviation = Sqrt (more)
  a = Div (apart, deviation)
  b = MatMul (a, w)
  c = Relu (b)
  d = MatMul (c, v)
  %s
}}
"""
RESTORED = "e = Mul (d, deviation)\n y = Add (mean, e)"


CLASSES = 8
SHARES = f"""
<ir_version: 8, opset_import: ["" : 17]>
shares (float[1,{UNITS}] x) => (float[1,{CLASSES}] y, int64[1] label) {{
  a = MatMul (x, w)
  b = Add (a, offset)
  c = Sigmoid (b)
  d = ReduceSum <keepdims = 1> (c, axis)
  any = Cast <to = 9> (d)
  none = Not (any)
  more = Cast <to = 1> (none)
  e = Add (d, more)
  y = Div (c, e)
  label = ArgMax <axis = 1, keepdims = 0> (y)
}}
"""
"""Classifiers of one class against the others, as scikit-learn combines them."""

MANY = 40
IN_UNITS = f"""
<ir_version: 8, opset_import: ["" : 17]>
units (float[1,{STEPS}] x) => (float[1,{MANY}] y) {{
  b = MatMul (x, w)
  c = Relu (b)
  d = MatMul (c, v)
  e = Tanh (d)
  f = Mul (e, sizes)
  y = Add (f, means)
}}
"""


def network(text: str, ahead: int = AHEAD) -> onnx.ModelProto:
    made, rng = onnx.parser.parse_model(text), np.random.default_rng(0)
    for name, shape in (("w", (STEPS, UNITS)), ("v", (UNITS, ahead))):
        weights = rng.normal(0, shape[0] ** -0.5, shape).astype(np.float32)
        made.graph.initializer.append(numpy_helper.from_array(weights, name))
    return onnx.shape_inference.infer_shapes(made)


def series(count: int, seed: int) -> list[dict[str, np.ndarray]]:
    """On levels from 10 to 100,000."""
    rng = np.random.default_rng(seed)
    sizes = 10 ** rng.uniform(1, 5, (count, 1, 1))
    return [{"x": x.astype(np.float32)} for x in sizes * rng.uniform(0.5, 1.5, (count, 1, STEPS))]


@pytest.mark.parametrize(
    "text",
    [SERIES, STANDARDIZED % RESTORED, STANDARDIZED % "y = Identity (d)"],
    ids=["level", "mean and deviation", "not restored"],
)
def test_small_series_are_as_accurate_as_large_ones(text, tmp_path):
    proto, given, unseen = network(text), series(100, 1), series(200, 2)
    onnx.save(proto, tmp_path / "m.onnx")
    done = edgekit.quantize(tmp_path / "m.onnx", given, tmp_path / "m.edge")
    assert done.quality.level == "good"
    floats = onnxruntime.InferenceSession(proto.SerializeToString())
    session = edgekit.Session(tmp_path / "m.edge")
    errors, small = [], []
    for feed in unseen:
        level = feed["x"].mean()
        truth, got = floats.run(None, feed)[0], session.run(feed)["y"]
        errors.append(np.linalg.norm(got - truth) / np.linalg.norm(truth))
        if level < 100:
            small.append(errors[-1])
    assert len(small) > 30
    assert np.median(errors) < 0.02
    assert np.median(small) < 0.02
    assert np.sqrt(np.mean(np.square(small))) < 0.08


def test_shares_of_a_small_sum_are_as_accurate_as_others(tmp_path):
    """Calibrated on samples that a class is sure of; others have probabilities below a step."""
    proto, rng = onnx.parser.parse_model(SHARES), np.random.default_rng(4)
    middles = rng.normal(size=(CLASSES, UNITS)).astype(np.float32)
    for name, array in (
        ("w", middles.T),
        ("offset", np.full(CLASSES, -12, np.float32)),
        ("axis", np.array([1])),
    ):
        proto.graph.initializer.append(numpy_helper.from_array(array, name))
    onnx.save(proto, tmp_path / "m.onnx")
    sure = np.r_[rng.uniform(0.6, 1.2, 100), rng.uniform(0, 0.8, 400)][:, None]
    x = sure * middles[rng.integers(0, CLASSES, 500)] + 0.3 * rng.normal(size=(500, UNITS))
    x = x.astype(np.float32)
    edgekit.quantize(tmp_path / "m.onnx", [{"x": r[None]} for r in x[:100]], tmp_path / "m.edge")
    floats = onnxruntime.InferenceSession(proto.SerializeToString())
    session = edgekit.Session(tmp_path / "m.edge")
    truth = [floats.run(None, {"x": r[None]}) for r in x[100:]]
    got = [session.run({"x": r[None]}) for r in x[100:]]
    same = [t[1] == g["label"] for t, g in zip(truth, got, strict=True)]
    off = [np.abs(t[0] - g["y"]).max() for t, g in zip(truth, got, strict=True)]
    assert np.mean(same) > 0.97
    assert np.percentile(off, 95) < 0.1


def test_numbers_in_different_units_are_as_accurate_as_each_other(tmp_path):
    """As temperatures beside pressures."""
    proto, rng = network(IN_UNITS, MANY), np.random.default_rng(3)
    sizes = np.geomspace(0.1, 1000, MANY, dtype=np.float32)
    for name, values in (("sizes", sizes), ("means", 100 * sizes)):
        proto.graph.initializer.append(numpy_helper.from_array(values, name))
    onnx.save(proto, tmp_path / "m.onnx")
    feeds = [{"x": x.astype(np.float32)} for x in rng.normal(0, 1, (300, 1, STEPS))]
    done = edgekit.quantize(tmp_path / "m.onnx", feeds[:100], tmp_path / "m.edge")
    assert done.quality.level == "good"
    assert "e" in done.quality.sqnr_db
    floats = onnxruntime.InferenceSession(proto.SerializeToString())
    session = edgekit.Session(tmp_path / "m.edge")
    truth = np.concatenate([floats.run(None, f)[0] for f in feeds[100:]])
    got = np.concatenate([session.run(f)["y"] for f in feeds[100:]])
    assert (np.mean(np.square(got - truth), 0) < 0.01 * truth.var(0)).all()


def test_the_verdict_is_that_of_the_normalized_series_too(tmp_path):
    """Large series hide their error."""
    proto = network(STANDARDIZED % RESTORED)
    onnx.save(proto, tmp_path / "m.onnx")
    done = edgekit.quantize(tmp_path / "m.onnx", series(100, 1), tmp_path / "m.edge")
    assert set(done.quality.sqnr_db) == {"y", "d"}


def test_a_scale_that_hardly_differs_stays_on_integers(tmp_path):
    onnx.save(network(SERIES), tmp_path / "m.onnx")
    rng = np.random.default_rng(1)
    given = [{"x": x.astype(np.float32)} for x in rng.uniform(0.5, 1.5, (100, 1, STEPS))]
    done = edgekit.quantize(tmp_path / "m.onnx", given, tmp_path / "m.edge")
    assert not [d for d in done.decisions if d.what == "kept float"]


@pytest.mark.parametrize(
    "text",
    [
        "f = Mul (d, sizes)\n y = Add (c, f)",  # a residual sum with a scale for each channel
        "y = Mul (d, mask)",
        "y = Mul (d, alike)",
        "level = ReduceMean <axes = [1]> (c)\n y = Mul (d, level)",
    ],
)
def test_other_products_restore_nothing(text):
    made = onnx.parser.parse_model(
        f"""
<ir_version: 8, opset_import: ["" : 17]>
other (float[1,{UNITS}] x) => (float[1,{UNITS}] y) {{
  c = MatMul (x, w)
  e = Tanh (c)
  d = MatMul (e, w)
  {text}
}}
"""
    )
    rng = np.random.default_rng(0)
    values = {
        "w": rng.normal(size=(UNITS, UNITS)),
        "sizes": np.geomspace(0.01, 1, UNITS),
        "mask": np.arange(UNITS) % 2,
        "alike": np.geomspace(1, 3, UNITS),
    }
    for name, array in values.items():
        made.graph.initializer.append(numpy_helper.from_array(array.astype(np.float32), name))
    graph = load(onnx.shape_inference.infer_shapes(made).SerializeToString(), finite=True)
    assert not restored(graph)

"""Chains whose functions bend too sharply for a table of lines are not int16, and whole numbers no
integers of a scale."""

from __future__ import annotations

import numpy as np
import onnx
import onnxruntime
import pytest

import edgekit
from edgekit.toolkit.build import build_file
from edgekit.toolkit.numerics import FLOAT32
from edgekit.toolkit.quantize import Options, quantize_graph
from edgekit.toolkit.runtime import Session


def of_one_function(g, op):
    x = g.conv(g.input("x", 1, 4, 4, 2), 2, name="a")
    return g.output(g.conv(g.emit(op, x, name="y"), 2, name="b"))


def quantized(graph, a, y, *int16):
    ranges = {"x": (-1.0, 1.0), "a": a, "y": y, "b": (-9.0, 9.0)}
    return quantize_graph(graph, ranges, Options(wide=frozenset(int16)))


SMOOTH = {"Sigmoid": ((-8.0, 8.0), (0.0, 1.0)), "Abs": ((-3.0, 4.0), (0.0, 4.0)),
          "Exp": ((-2.0, 2.0), (0.1, 7.4)), "Log": ((1.0, 9.0), (0.0, 2.2))}  # fmt: skip
SHARP = {"Log": ((1e-4, 9.0), (-9.2, 2.2)), "Reciprocal": ((0.01, 5.0), (0.2, 100.0)),
         "Sqrt": ((0.0, 9.0), (0.0, 3.0)), "Floor": ((-3.0, 3.0), (-3.0, 3.0))}  # fmt: skip


@pytest.mark.parametrize("op", SMOOTH)
def test_lines_do_for_smooth_functions_and_for_one_bend(g, op):
    q, decisions = quantized(of_one_function(g, op), *SMOOTH[op], "a", "y")
    lut = next(n for n in q.nodes if n.op == "Lut")
    assert lut.output.dtype == np.int16 and not decisions


@pytest.mark.parametrize("op", SHARP)
def test_what_lines_miss_by_whole_int8_steps_stays_float(g, op):
    q, decisions = quantized(of_one_function(g, op), *SHARP[op], "a", "y")
    real = ["Clip", op] if op == "Sqrt" else [op]
    assert [n.op for n in q.nodes] == ["Conv2d", "Dequantize", *real, "Quantize", "Conv2d"]
    (told,) = [d for d in decisions if d.node == "y"]
    assert told.what == "kept float" and "its int16 table is off by" in told.why


def test_inputs_that_were_never_seen_do_not_count(g):
    """The function of 0, which every quantization holds, may be infinite."""
    q, decisions = quantized(of_one_function(g, "Reciprocal"), (2.0, 5.0), (0.2, 0.5), "a", "y")
    assert "Lut" in {n.op for n in q.nodes} and not decisions


def test_the_same_table_on_int8_is_not_refused(g):
    q, decisions = quantized(of_one_function(g, "Log"), *SHARP["Log"])
    lut = next(n for n in q.nodes if n.op == "Lut")
    assert lut.output.dtype == np.int8 and not decisions


WHOLE = """
<ir_version: 8, opset_import: ["" : 17]>
signs (float[1,8] x) => (float[1,4] y, int64[1,4] label, float[1,4] same) {
  y = MatMul (x, w)
  sign = Sign (y)
  label = Cast <to = 7> (sign)
  level = Round (y)
  three = Constant <value_float = 3.0> ()
  found = Equal (level, three)
  same = Cast <to = 1> (found)
}
"""


def test_whole_numbers_stay_whole(tmp_path):
    """A step of int8 next to -1 may be -0.998, which a Cast makes 0; next to 3 is not 3."""
    rng = np.random.default_rng(2)
    proto = onnx.parser.parse_model(WHOLE)
    w = rng.normal(0, 1, (8, 4)).astype(np.float32)
    proto.graph.initializer.append(onnx.numpy_helper.from_array(w, "w"))
    onnx.save(proto, tmp_path / "m.onnx")
    feeds = [{"x": x.astype(np.float32)} for x in rng.normal(0, 1, (300, 1, 8))]
    edgekit.quantize(tmp_path / "m.onnx", feeds[:100], tmp_path / "m.edge")
    floats = onnxruntime.InferenceSession(proto.SerializeToString())
    session = edgekit.Session(tmp_path / "m.edge")
    for name, at in (("label", 1), ("same", 2)):
        want = np.array([floats.run(None, f)[at] for f in feeds[100:]])
        got = np.array([session.run(f)[name] for f in feeds[100:]])
        assert (got == want).mean() > 0.97
        assert set(np.unique(want)) <= set(np.unique(got))


@pytest.mark.parametrize("wide", [(), ("a",)], ids=["int8", "int16"])
def test_a_float_root_of_integers_is_a_number(g, wide):
    """A distance next to 0 is rounded to less than 0."""
    none = {"act_min": -np.inf, "act_max": np.inf}
    w = g.const([[1, -1], [0, 1]])
    a = g.emit("FullyConnected", g.input("x", 1, 2), w, None, name="a", **none)
    graph = g.output(g.emit("Sqrt", a, name="y"))
    ranges = {"x": (-9.0, 9.0), "a": (-0.1, 9.0), "y": (0.0, 3.0)}
    options = Options(wide=frozenset(wide), precision={"y": FLOAT32})
    q, _ = quantize_graph(graph, ranges, options)
    y = Session(build_file(q)).run({"x": np.float32([[3.9, 4]])})["y"]
    assert np.allclose(y, [[0, 2]], atol=0.05)


@pytest.mark.parametrize(("side", "dtype"), [(8, np.float32), (32, np.int8)])
def test_images_of_whole_numbers_stay_integers(g, side, dtype):
    level = g.emit("Round", g.conv(g.input("x", 1, side, side, 3), 3, name="a"), name="level")
    graph = g.output(g.emit("Cast", level, name="y", to=np.dtype(np.uint8)))
    ranges = {"x": (-1.0, 1.0), "a": (0.0, 255.0), "level": (0.0, 255.0)}
    q, _ = quantize_graph(graph, ranges)
    (made,) = [v for n in q.nodes for v in n.outputs if v.name == "level"]
    assert made.dtype == dtype

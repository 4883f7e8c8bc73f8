"""What runs on int16 and on 4-bit weights, and what stands between it and the rest."""

from __future__ import annotations

import numpy as np
import pytest

from edgekit.toolkit.quantize import Options, quantize_graph
from edgekit.toolkit.quantize.scheme import quantizable_groups
from edgekit.toolkit.verify import verify


@pytest.fixture(autouse=True)
def _all_can(monkeypatch):
    """Whatever the operators can so far: only the form of the graph is looked at."""
    able = lambda unit, precision, refused: refused.get((unit.node, precision))  # noqa: E731
    monkeypatch.setattr(quantizable_groups, "problem", able)


def quantized(graph, *int16, **precision):
    ranges = {v.name: (-4.0, 2.0) for v in graph.values() if v.const is None}
    return quantize_graph(graph, ranges, Options(wide=frozenset(int16), precision=precision))


def ops(graph):
    return [n.op for n in graph.nodes]


def dtype_of(graph, name):
    return next(v.dtype for v in graph.values() if v.name == name)


def three_convs(g):
    x = g.input("x", 1, 4, 4, 2)
    return g.output(g.conv(g.conv(g.conv(x, 2, name="a"), 2, name="b"), 2, name="c"))


def test_makers_and_readers_of_an_int16_tensor_are_int16(g):
    q, _ = quantized(three_convs(g), "a")
    assert ops(q) == ["Conv2d", "Conv2d", "Requantize", "Conv2d"]
    named = {n.op + n.name: n for n in q.nodes}
    assert {dtype_of(q, name) for name in ("x", "a", "b")} == {np.dtype(np.int16)}
    assert named["Requantizeb.int8"].output.quant.dtype == np.int8 == dtype_of(q, "c")
    quant = q.nodes[0].output.quant
    assert (quant.zero_point, quant.qmin) == (0, -32767)
    assert np.isclose(quant.scalar, 8 / 32767)


def test_biases_follow_the_scale_of_int16(g):
    graph = three_convs(g)
    q, _ = quantized(graph, "a")
    x, w, b = q.nodes[0].inputs
    assert w.dtype == np.int8 and b.dtype == np.int32
    assert np.allclose(b.quant.scale, np.array(w.quant.scale) * x.quant.scalar)


def test_an_input_that_is_read_as_both_is_int16(g):
    x = g.input("x", 1, 4, 4, 2)
    graph = g.output(g.conv(x, 2, name="a"), g.conv(x, 2, name="b"))
    q, _ = quantized(graph, "b")
    assert ops(q) == ["Requantize", "Conv2d", "Conv2d"]
    assert dtype_of(q, "x") == np.int16 and dtype_of(q, "x.int8") == np.int8


def test_float_and_int16_meet_without_int8(g):
    q, _ = quantized(three_convs(g), "a", c="float32")
    assert ops(q) == ["Conv2d", "Conv2d", "Dequantize", "Conv2d"]
    assert q.nodes[2].input(0).dtype == np.int16


def test_float_goes_straight_to_int16(g):
    q, _ = quantized(three_convs(g), "a", a="float32")
    assert ops(q) == ["Conv2d", "Quantize", "Conv2d", "Requantize", "Conv2d"]
    assert q.nodes[1].output.dtype == np.int16


def test_what_is_moved_keeps_its_precision(g):
    x = g.conv(g.input("x", 1, 4, 4, 2), 2, name="a")
    y = g.emit("Transpose", g.emit("Reshape", x, shape=(1, 16, 2)), perm=(0, 2, 1), name="t")
    q, _ = quantized(g.output(y), "t")
    assert ops(q) == ["Conv2d", "Reshape", "Transpose"]
    assert all(n.output.dtype == np.int16 for n in q.nodes)
    assert len({n.output.quant for n in q.nodes}) == 1


def test_cheap_nodes_between_int16_nodes_are_int16(g):
    x = g.conv(g.input("x", 1, 4, 4, 2), 2, name="a")
    y = g.emit("Concat", x, x, axis=3, name="y")
    z = g.conv(y, 2, name="z")
    graph = g.output(g.conv(z, 2, name="end"))
    q, decisions = quantized(graph, "x", "z")
    assert "Requantize" not in ops(q) and dtype_of(q, "y") == np.int16
    assert [d.what for d in decisions] == ["made int16"]


def test_what_cannot_be_int16_is_int8_and_says_so(g, monkeypatch):
    able = lambda unit, precision, refused: "no" if precision == "int16" else None  # noqa: E731
    monkeypatch.setattr(quantizable_groups, "problem", able)
    q, decisions = quantized(three_convs(g), "b")
    assert all(n.output.dtype == np.int8 for n in q.nodes)
    assert [(d.node, d.what, d.why) for d in decisions] == [(n, "made int8", "no") for n in "bc"]


def test_4_bit_weights_stay_so_beside_int16(g):
    q, decisions = quantized(three_convs(g), "a", a="int4", c="int4")
    made = {n.output.name: n for n in q.nodes if n.op == "Conv2d"}
    assert {name for name, n in made.items() if "storage" in n.attrs} == {"a", "c"}
    assert {name for name, n in made.items() if n.input(0).dtype == np.int16} == {"a", "b"}
    assert all(np.abs(made[name].input(1).const).max() <= 7 for name in ("a", "c"))
    assert not decisions


@pytest.mark.parametrize(
    "refused, made, bits",
    [({"int16x4"}, "int16", 8), ({"int16x4", "int16"}, "int4", 4), ({"int16x4", "int16", "int4"},
     "int8", 8)],
)  # fmt: skip
def test_int16_comes_before_4_bit_weights_where_both_cannot_be(g, monkeypatch, refused, made, bits):
    able = lambda unit, precision, _: "no" if precision in refused else None  # noqa: E731
    monkeypatch.setattr(quantizable_groups, "problem", able)
    x = g.input("x", 1, 4, 4, 2)
    q, decisions = quantized(g.output(g.conv(x, 2, name="a")), "a", a="int4")
    assert [(d.node, d.what, d.why) for d in decisions] == [("a", f"made {made}", "no")]
    conv = next(n for n in q.nodes if n.op == "Conv2d")
    assert conv.output.dtype == (np.int16 if made == "int16" else np.int8)
    assert ("storage" in conv.attrs) == (bits == 4)


def test_a_float_chain_starts_where_an_integer_one_ends(g):
    a = g.emit("Tanh", g.conv(g.input("x", 1, 4, 4, 2), 2), name="a")
    b = g.emit("Sigmoid", g.emit("Tanh", a), name="b")
    q, _ = quantized(g.output(g.conv(a, 2), g.conv(b, 2)), b="float32")
    verify(q, "quantization")
    assert ops(q)[1:5] == ["Lut", "Dequantize", "Tanh", "Sigmoid"]


def test_what_is_requantized_for_a_node_is_made_once(g):
    x = g.conv(g.input("x", 1, 4, 4, 2), 2, name="a")
    graph = g.output(g.emit("Concat", x, x, g.conv(x, 2, name="b"), axis=3, name="c"))
    ranges = {"x": (-1.0, 1.0), "a": (-1.0, 1.0), "b": (-9.0, 9.0), "c": (-9.0, 9.0)}
    q, decisions = quantize_graph(graph, ranges, Options())
    verify(q, "quantization")
    assert ops(q) == ["Conv2d", "Conv2d", "Lut", "Concat"] and len(decisions) == 1


@pytest.mark.parametrize(("op", "sizes"), [("Mul", (1e3, 3e2)), ("Add", (1e6, 1e6))])
def test_a_result_far_smaller_than_what_it_is_made_of_stays_float(g, op, sizes):
    """Numbers times masks that are 0 wherever they are large; differences of equal numbers."""
    x, y = g.input("x", 1, 8), g.input("y", 1, 8)
    graph = g.output(g.emit(op, x, y, name="z"))
    ranges = {v.name: (-size, size) for v, size in zip((x, y), sizes, strict=True)}
    made, decisions = quantize_graph(graph, {**ranges, "z": (-1e-2, 1e-2)})
    (why,) = (d.why for d in decisions if d.what == "kept float")
    assert made.outputs[0].value.dtype == np.float32 and "output scale of 7.8" in why

from __future__ import annotations

import numpy as np
import pytest

from edgekit.toolkit.interpret import interpret
from edgekit.toolkit.ir import Port, TensorType, Value
from edgekit.toolkit.numerics import FLOAT32
from edgekit.toolkit.quantize import Options, quantize_graph
from edgekit.toolkit.quantize.scheme.plan import Plan


def ranges_of(graph, **given):
    return {v.name: (-4.0, 4.0) for v in graph.values() if v.const is None} | given


def by_name(graph):
    return {v.name: v for v in graph.values()}


def ops(graph):
    return [n.op for n in graph.nodes]


def test_a_conv_net_is_int8_from_input_to_output(g):
    x = g.input("x", 1, 6, 6, 3)
    y = g.conv(g.conv(x, 8, act_min=0.0), 4)
    graph = g.output(y)
    before = str(graph)
    q, decisions = quantize_graph(graph, ranges_of(graph))
    assert ops(q) == ["Conv2d", "Conv2d"] and not decisions
    assert {v.dtype for v in q.values()} == {np.dtype(np.int8), np.dtype(np.int32)}
    assert q.inputs[0].onnx_dtype == 1 and q.inputs[0].value.quant is not None
    assert str(graph) == before


def test_bias_is_in_units_of_input_times_weight(g):
    graph = g.output(g.conv(g.input("x", 1, 4, 4, 2), 3))
    q, _ = quantize_graph(graph, ranges_of(graph))
    x, w, b = q.nodes[0].inputs
    assert b.dtype == np.int32 and w.quant.axis == 0
    unit = np.array(w.quant.scale) * x.quant.scalar
    assert np.allclose(b.quant.scale, unit)
    assert np.allclose(b.const * unit, graph.nodes[0].inputs[2].const, atol=unit.max())


def test_a_channel_without_weights_gives_its_bias(g):
    y = g.conv(g.input("x", 1, 4, 4, 2), 2)
    node = g.graph.nodes[0]
    w, b = node.inputs[1].const, node.inputs[2].const
    w[0], b[:] = 0.0, [1.5, 0.0]
    w[1] = 1e-38  # too small to hold a bias at its own scale
    b[1] = -2.0
    graph = g.output(y)
    q, decisions = quantize_graph(graph, ranges_of(graph))
    assert not decisions
    got = interpret(q, {"x": np.zeros((1, 4, 4, 2), np.int8)})[y.name]
    real = q.outputs[0].value.quant.dequantize(got)
    assert np.allclose(real[..., 0], 1.5, atol=0.02) and np.allclose(real[..., 1], -2, atol=0.02)


def test_a_slope_per_channel_stays_a_real_constant(g):
    x = g.input("x", 1, 4, 4, 2)
    graph = g.output(g.emit("PRelu", x, g.const([0.25, -3.0])))
    q, decisions = quantize_graph(graph, ranges_of(graph))
    assert ops(q) == ["PRelu"] and not decisions
    assert q.nodes[0].input(1).const.tolist() == [0.25, -3.0]


@pytest.mark.parametrize("int16", [frozenset(), frozenset(["x"])])
def test_a_layer_norm_keeps_its_variance_inside(g, int16):
    """Lines of ten times the others' deviation are as exact as these."""
    x, scale = g.input("x", 3, 32), g.const(np.ones(32))
    y = g.emit("LayerNorm", x, scale, None, axes=(1,), epsilon=1e-5, centered=True)
    graph = g.output(y)
    q, decisions = quantize_graph(graph, ranges_of(graph), Options(wide=int16))
    assert ops(q) == ["LayerNorm"] and not decisions
    into, out = q.inputs[0].value.quant, q.outputs[0].value.quant
    assert into.dtype == out.dtype == (np.int16 if int16 else np.int8)
    data = np.random.default_rng(0).normal(size=(3, 32)) * [[0.1], [1], [10]]
    data = np.clip(np.rint(data / into.scalar) + into.zero_point, into.qmin, into.qmax)
    real = (data - into.zero_point) * into.scalar
    real -= real.mean(axis=1, keepdims=True)
    real /= np.sqrt((real**2).mean(axis=1, keepdims=True) + 1e-5)
    got = interpret(q, {"x": data.astype(into.dtype)})[y.name]
    want = np.clip(real / out.scalar + out.zero_point, out.qmin, out.qmax)
    assert np.abs(got - want).max() < 0.51


def test_a_fused_clamp_bounds_the_range(g):
    y = g.conv(g.input("x", 1, 4, 4, 2), 2, act_min=0.0, act_max=3.0)
    graph = g.output(y)
    q, _ = quantize_graph(graph, ranges_of(graph))
    quant = q.outputs[0].value.quant
    assert quant.zero_point == -128 and np.isclose(quant.scalar, 3 / 255)


def test_a_chain_is_one_table(g):
    x = g.conv(g.input("x", 1, 4, 4, 2), 2)
    y = g.emit("Mul", x, g.emit("Sigmoid", x))
    graph = g.output(y)
    q, _ = quantize_graph(graph, ranges_of(graph))
    assert ops(q) == ["Conv2d", "Lut"]
    node = q.nodes[1]
    real = node.input(0).quant.dequantize(np.arange(-128, 128))
    want = node.output.quant.quantize(real / (1 + np.exp(-real)))
    assert np.abs(node.input(1).const.astype(int) - want).max() <= 1


def test_where_tables_saturate_no_steps_are_spent(g):
    x = g.conv(g.input("x", 1, 4, 4, 2), 2)
    y = g.emit("HardSwish", x)
    graph = g.output(y)
    q, _ = quantize_graph(graph, ranges_of(graph) | {x.name: (-20.0, 4.0), y.name: (-0.4, 4.0)})
    quant = q.nodes[0].output.quant
    assert -3.2 < (-128 - quant.zero_point) * quant.scalar < -2.9


def test_movement_keeps_the_quantization(g):
    x = g.conv(g.input("x", 1, 4, 4, 2), 2)
    y = g.emit("Transpose", g.emit("Reshape", x, shape=(1, 16, 2)), perm=(0, 2, 1))
    graph = g.output(y)
    q, _ = quantize_graph(graph, ranges_of(graph) | {y.name: (-2.0, 1.0)})
    assert len({v.quant for n in q.nodes for v in n.outputs}) == 1
    # What only y reads needs only the range of y.
    assert np.isclose(q.outputs[0].value.quant.scalar, 3 / 255)


def test_producers_write_in_the_quantization_of_a_concat(g):
    x = g.input("x", 1, 4, 4, 2)
    a, b = g.conv(x, 2), g.conv(x, 2)
    y = g.emit("Concat", a, b, axis=3)
    graph = g.output(y)
    q, decisions = quantize_graph(graph, ranges_of(graph) | {a.name: (-1.0, 1.0)})
    assert "Lut" not in ops(q) and not decisions
    assert by_name(q)[a.name].quant == by_name(q)[y.name].quant


def test_an_input_of_a_concat_that_others_read_finer_is_requantized(g):
    x = g.input("x", 1, 4, 4, 2)
    a, b = g.conv(x, 2), g.conv(x, 2)
    y = g.emit("Concat", a, b, axis=3)
    graph = g.output(y, g.conv(a, 2))
    q, decisions = quantize_graph(graph, ranges_of(graph) | {a.name: (-0.5, 0.5)})
    assert ops(q).count("Lut") == 1 and "requantized" in decisions[0].what
    named = by_name(q)
    assert named[a.name].quant.scalar < named[y.name].quant.scalar / 5
    same, _ = quantize_graph(graph, ranges_of(graph))
    assert "Lut" not in ops(same)


def test_softmax_dictates_its_output(g):
    x = g.input("x", 1, 10)
    graph = g.output(g.emit("Reshape", g.emit("Softmax", x, axis=1), shape=(10,)))
    q, _ = quantize_graph(graph, ranges_of(graph))
    quant = q.outputs[0].value.quant
    assert (quant.scalar, quant.zero_point) == (1 / 256, -128)


def test_argmax_reads_the_logits(g):
    x = g.input("x", 1, 10)
    p = g.emit("Softmax", x, axis=1)
    y = g.emit("ArgMax", p, axis=1, keepdims=0, select_last_index=0)
    graph = g.output(p, y)
    q, _ = quantize_graph(graph, ranges_of(graph))
    argmax = next(n for n in q.nodes if n.op == "ArgMax")
    assert argmax.input(0) is q.inputs[0].value


def test_what_has_no_integer_form_stays_float_and_says_so(g):
    x = g.conv(g.input("x", 1, 4, 4, 2), 2)
    y = g.emit("Pow", x, g.conv(g.graph.inputs[0].value, 2))
    graph = g.output(g.conv(y, 2))
    q, decisions = quantize_graph(graph, ranges_of(graph))
    assert ops(q) == ["Conv2d", "Conv2d", "Dequantize", "Dequantize", "Pow", "Quantize", "Conv2d"]
    (decision,) = decisions
    assert (decision.op, decision.what) == ("Pow", "kept float") and "constant" in decision.why


def test_cheap_nodes_between_float_nodes_stay_float(g):
    x = g.input("x", 1, 4, 4, 2)
    a = g.emit("Div", g.conv(x, 2), g.conv(x, 2))
    b = g.emit("Reshape", a, shape=(1, 32))
    graph = g.output(g.emit("Div", b, g.input("y", 1, 32)))
    q, _ = quantize_graph(graph, ranges_of(graph))
    assert ops(q).count("Dequantize") == 2 and "Quantize" not in ops(q)
    assert q.outputs[0].value.dtype == np.float32


def test_nodes_kept_float_by_name(g):
    x = g.conv(g.input("x", 1, 4, 4, 2), 2)
    y = g.conv(x, 2, name="tail")
    graph = g.output(y)
    q, decisions = quantize_graph(graph, ranges_of(graph), Options(precision={"tail": "float32"}))
    assert ops(q) == ["Conv2d", "Dequantize", "Conv2d"]
    assert [d.node for d in decisions] == ["tail"]


def test_a_tensor_without_range_keeps_its_nodes_float(g):
    x = g.conv(g.input("x", 1, 4, 4, 2), 2)
    graph = g.output(g.conv(x, 2))
    ranges = ranges_of(graph)
    del ranges[x.name]
    q, decisions = quantize_graph(graph, ranges)
    assert len(decisions) == 2 and x.name in decisions[0].why
    assert q.inputs[0].value.dtype == np.float32


def test_accumulators_that_could_overflow_stay_float(g):
    x = g.input("x", 1, 1 << 18)
    w = g.const(np.ones((1, 1 << 18)))
    graph = g.output(g.emit("FullyConnected", x, w, None, act_min=-np.inf, act_max=np.inf))
    q, decisions = quantize_graph(graph, ranges_of(graph))
    assert ops(q) == ["FullyConnected"] and decisions[0].what == "kept float"


def test_the_integers_mean_what_the_floats_say(g):
    rng = np.random.default_rng(3)
    x = g.input("x", 1, 5, 5, 4)
    y = g.conv(x, 6, kernel=1)
    graph = g.output(y)
    data = rng.uniform(-1, 1, size=x.shape).astype(np.float32)
    w, b = (v.const for v in graph.nodes[0].inputs[1:])
    want = np.einsum("nhwc,okjc->nhwo", data, w) + b
    ranges = {"x": (-1.0, 1.0), y.name: (float(want.min()), float(want.max()))}
    q, _ = quantize_graph(graph, ranges)
    got = interpret(q, {"x": q.inputs[0].value.quant.quantize(data)})[y.name]
    error = q.outputs[0].value.quant.dequantize(got) - want
    assert 10 * np.log10((want**2).sum() / (error**2).sum()) > 35


def test_the_mean_error_of_rounded_weights_is_taken_out_of_the_bias(g):
    means = np.array([1.0, -2.0, 0.5, 3.0])
    x = g.input("x", 1, 5, 5, 4)
    y = g.conv(x, 6, kernel=3, groups=2)
    graph = g.output(y)
    w, b = (v.const.astype(np.float64) for v in graph.nodes[0].inputs[1:])

    def at_the_means(weight, bias):
        return np.stack([
            (weight[o] * means[2 * (o // 3) :][:2]).sum() + bias[o] for o in range(6)
        ])  # fmt: skip

    for given, close in [({}, False), ({"x": means}, True)]:
        q, _ = quantize_graph(graph, ranges_of(graph), Options(means=given))
        qw, qb = q.nodes[0].inputs[1:]
        rounded = qw.const * np.array(qw.quant.scale)[:, None, None, None]
        got = at_the_means(rounded, qb.const * np.array(qb.quant.scale))
        error = np.abs(got - at_the_means(w, b)) / np.array(qb.quant.scale)
        assert (error.max() <= 0.51) == close


@pytest.mark.parametrize("op", ["Add", "Sub", "Mul", "Min", "Max"])
@pytest.mark.parametrize("shape", [(), (1,), (4,)])
def test_a_computed_scalar_or_vector_is_an_int8_operand(g, op, shape):
    x, s = g.conv(g.input("x", 1, 3, 3, 2), 4), g.input("s", *shape)
    graph = g.output(g.conv(g.emit(op, x, s), 2, kernel=1))
    q, decisions = quantize_graph(graph, ranges_of(graph))
    assert {n.output.dtype for n in q.nodes} == {np.dtype(np.int8)}
    assert not any(d.what == "kept float" for d in decisions)


def test_rows_of_a_constant_table_are_int8(g):
    at = Value("at", TensorType(np.dtype(np.int32), (3,)))
    g.graph.inputs.append(Port("at", at, 6, (3,)))
    table = np.linspace(-4, 4, 10, dtype=np.float32).reshape(5, 2)
    y = g.emit("Gather", g.const(table), at, axis=0)
    graph = g.output(g.emit("FullyConnected", y, g.const(np.eye(2)), g.const([0, 0])))
    q, decisions = quantize_graph(graph, ranges_of(graph))
    assert ops(q) == ["Gather", "FullyConnected"] and not decisions
    got = interpret(q, {"at": np.array([4, 0, -2], np.int32)})[graph.outputs[0].name]
    real = q.outputs[0].value.quant.dequantize(got)
    assert np.allclose(real, table[[4, 0, 3]], atol=0.05)


@pytest.mark.parametrize("moved", [False, True])
@pytest.mark.parametrize("much", [1e4, 1e9, 3.4e38])
def test_a_mask_before_softmax_leaves_the_steps_to_what_it_shows(g, much, moved):
    shape = (6, 1, 1) if moved else (1, 1, 6)
    scores, keep = g.input("scores", 1, 6, 6), g.input("keep", *shape)
    masks = [g.emit("Mul", g.emit("Sub", g.const(1.0), keep), g.const(-much), name="mask")]
    if moved:
        masks.append(g.emit("Transpose", masks[0], perm=(1, 2, 0)))
        masks.append(g.emit("Reshape", masks[1], shape=(1, 6)))
    graph = g.output(g.emit("Softmax", g.emit("Add", scores, masks[-1], name="total"), axis=2))
    given = ranges_of(graph, keep=(0.0, 1.0), total=(-much, 4.0))
    given |= {v.name: (-much, 0.0) for v in masks}
    searched = given | {v.name: (-much, much / 254) for v in masks}  # as observer mse has them
    q, decisions = Plan(graph, given, Options()).emit(searched)
    found = by_name(q)
    assert not decisions and found["total"].quant.scalar < 0.1
    rng = np.random.default_rng(0)
    x, k = rng.uniform(-4, 4, (1, 6, 6)), np.array([1, 0, 1, 1, 0, 1.0]).reshape(shape)
    feed = {n: found[n].quant.quantize(v.astype(np.float32)) for n, v in
            {"scores": x, "keep": k}.items()}  # fmt: skip
    e = np.exp(x) * k.reshape(1, 1, 6)
    real = q.outputs[0].value.quant.dequantize(interpret(q, feed)[graph.outputs[0].name])
    assert np.allclose(real, e / e.sum(axis=2, keepdims=True), atol=0.03)


def test_a_softmax_behind_a_mask_may_be_float(g):
    scores, mask = g.input("scores", 1, 6, 6), g.input("mask", 1, 1, 6)
    total = g.emit("Add", scores, mask, name="total")
    graph = g.output(g.emit("Softmax", total, axis=2, name="shares"))
    ranges = ranges_of(graph, mask=(-1e9, 0.0), total=(-1e9, 4.0))
    q, _ = quantize_graph(graph, ranges, Options(precision={"shares": FLOAT32}))
    found = by_name(q)
    assert found["shares"].quant is None and found["total"].quant is None


@pytest.mark.parametrize("much", [-100.0, -1e4])
def test_a_constant_mask_of_two_softmaxes_leaves_the_steps_to_the_scores(g, much):
    scores = [g.input(f"scores{i}", 1, 6, 6) for i in range(2)]
    mask = g.const(np.triu(np.full((6, 6), much), 1))
    totals = [g.emit("Add", s, mask, name=f"total{i}") for i, s in enumerate(scores)]
    seen = g.emit("Reshape", totals[1], shape=(6, 6))
    probabilities = (g.emit("Softmax", totals[0], axis=2), g.emit("Softmax", seen, axis=1))
    graph = g.output(*probabilities)
    low = (much - 4, 4.0)
    q, decisions = quantize_graph(
        graph, ranges_of(graph, total0=low, total1=low, **{seen.name: low})
    )
    found = by_name(q)
    assert not decisions
    assert all(found[n].quant.scalar < 0.1 for n in ("total0", "total1", seen.name))
    x = np.random.default_rng(0).uniform(-4, 4, (6, 6)).astype(np.float32)
    feed = {s.name: found[s.name].quant.quantize(x[None]) for s in scores}
    got = interpret(q, feed)
    e = np.exp(x) * np.tri(6)
    for port in q.outputs:
        real = port.value.quant.dequantize(got[port.name]).reshape(6, 6)
        assert np.allclose(real, e / e.sum(axis=1, keepdims=True), atol=0.03)


def test_a_mask_before_argmax_leaves_the_steps_to_the_scores(g):
    scores, mask = g.input("scores", 1, 6, 6), g.input("mask", 1, 1, 6)
    total = g.emit("Add", scores, mask, name="total")
    graph = g.output(g.emit("ArgMax", total, axis=2, keepdims=False, select_last_index=False))
    q, decisions = quantize_graph(graph, ranges_of(graph, mask=(-1e4, 0.0), total=(-1e4, 4.0)))
    found = by_name(q)
    assert not decisions and found["total"].quant.scalar < 0.1
    x = np.random.default_rng(0).uniform(-4, 4, (1, 6, 6)).astype(np.float32)
    m = np.float32([0, -1e4, 0, 0, -1e4, 0]).reshape(1, 1, 6)
    feed = {n: found[n].quant.quantize(v) for n, v in {"scores": x, "mask": m}.items()}
    got = interpret(q, feed)[graph.outputs[0].name]
    assert np.array_equal(got, (x + m).argmax(axis=2))


@pytest.mark.parametrize("spread", [1.0, 3.0, 1000.0])
def test_features_of_many_scales_run_on_int16_until_they_have_one(g, spread):
    scale = np.geomspace(1 / spread, 1, 8)
    x = g.emit("Add", g.input("x", 1, 8), g.const(-1 / scale), name="shifted")
    x = g.emit("Mul", x, g.const(scale), name="scaled")
    graph = g.output(g.emit("FullyConnected", x, g.const(np.eye(8)), g.const(np.zeros(8))))
    given = dict.fromkeys(("x", "shifted"), (-2 * spread, 2 * spread))
    q, decisions = quantize_graph(graph, ranges_of(graph, scaled=(-2.0, 2.0), **given))
    found, wide = by_name(q), spread > 4
    assert (found["x"].dtype == found["scaled"].dtype == np.int16) == wide and not decisions
    real = (1 / scale * np.linspace(0, 2, 8)).astype(np.float32)[None]
    got = interpret(q, {"x": found["x"].quant.quantize(real)})[graph.outputs[0].name]
    y = q.outputs[0].value.quant.dequantize(got)
    assert np.allclose(y, real * scale - 1, atol=0.2)


def test_a_softplus_with_its_threshold_is_one_table(g):
    x = g.input("x", 1, 200)
    beyond = g.emit("Less", g.const(20.0), x)
    y = g.emit("Where", beyond, x, g.emit("Softplus", x))
    graph = g.output(g.emit("Clip", y, min=0.0, max=25.0))
    given = {"x": (-10.0, 30.0), graph.outputs[0].name: (0.0, 25.0)}
    q, decisions = quantize_graph(graph, ranges_of(graph, **given))
    assert ops(q) == ["Lut"] and not decisions
    real = np.linspace(-10, 30, 200).astype(np.float32)[None]
    quant = q.inputs[0].value.quant
    got = interpret(q, {"x": quant.quantize(real)})[graph.outputs[0].name]
    want = np.minimum(np.logaddexp(0, quant.dequantize(quant.quantize(real))), 25)
    assert np.allclose(q.outputs[0].value.quant.dequantize(got), want, atol=0.06)


def test_what_is_no_mask_keeps_its_range(g):
    a, b = g.input("a", 1, 4), g.input("b", 1, 4)
    graph = g.output(g.emit("Softmax", g.emit("Add", a, b, name="total"), axis=1))
    q, _ = quantize_graph(graph, ranges_of(graph, b=(-20.0, 0.0), total=(-24.0, 4.0)))
    assert by_name(q)["total"].quant.scalar > 0.1


OPEN = {"act_min": -np.inf, "act_max": np.inf}


def test_int16_keeps_a_bit_for_what_samples_do_not_show(g):
    x = g.input("x", 1, 8)
    y = g.emit("FullyConnected", x, g.const(np.eye(8)), None, name="y", **OPEN)
    z = g.emit("FullyConnected", y, g.const(np.eye(8)), None, name="z", **OPEN)
    t = g.emit("Tanh", z, name="t")
    known = dict.fromkeys(["x", "y", "z", "t"], (-1.0, 1.0))
    q, _ = quantize_graph(g.output(t), known, Options(wide=frozenset(["x", "y"])))
    scales = {name: v.quant.scalar * 32767 for name, v in by_name(q).items() if name in "xy"}
    assert scales == pytest.approx({"x": 2.0, "y": 2.0})
    wide = quantize_graph(g.output(t), known, Options(wide=frozenset(known)))[0]
    assert by_name(wide)["z"].quant.scalar * 32767 == pytest.approx(1.0)  # a table reads it

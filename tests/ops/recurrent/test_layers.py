"""RNN, GRU and LSTM: ONNX's node cases, onnxruntime, and C against the integers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from onnx import helper, numpy_helper
from scipy.special import expit

from edgekit.toolkit.build import build_file
from edgekit.toolkit.format.schema import RecurrentCell, RecurrentFn, RecurrentOutput
from edgekit.toolkit.ir import QuantParams, constant
from edgekit.toolkit.numerics import W8A8, W8A16
from edgekit.toolkit.onnx_import import load
from edgekit.toolkit.ops import definition
from edgekit.toolkit.ops.recurrent._fixed import fixed_of
from edgekit.toolkit.ops.recurrent._functions import CellFunction
from edgekit.toolkit.runtime import Session

from ..conftest import graph_of

BACKEND_OPS = {"RNN", "GRU", "LSTM"}
PARAMETERS = {"RNN": 1, "GRU": 1, "LSTM": 1}

GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}
FUNCTIONS = {"RNN": 1, "GRU": 2, "LSTM": 3}
STEPS, BATCH, INPUTS, HIDDEN = 5, 3, 4, 6


def test_backend(backend_case):
    backend_case.check(1e-4, 1e-5)


@pytest.mark.parametrize("after", [0, 1])
@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
@pytest.mark.parametrize("op", ["RNN", "GRU", "LSTM"])
def test_weights_that_the_model_computes(run_onnx, op, direction, after):
    directions = 2 if direction == "bidirectional" else 1
    feed, constants, _ = arrays(op, directions, bias=bool(after))
    more = {"linear_before_reset": after} if op == "GRU" else {}
    run(run_onnx, op, feed | constants, {}, direction=direction, **more)


def arrays(op, directions=1, bias=True, seed=0, sizes=(STEPS, BATCH, INPUTS, HIDDEN)):
    """The operands that are always there."""
    steps, batch, inputs, hidden = sizes
    rng = np.random.default_rng(seed)
    rows = GATES[op] * hidden

    def normal(*shape):
        return rng.normal(0, 0.7, shape).astype(np.float32)

    feed = {"x": normal(steps, batch, inputs)}
    constants = {"w": normal(directions, rows, inputs), "r": normal(directions, rows, hidden)}
    if bias:
        constants["b"] = normal(directions, 2 * rows)
    return feed, constants, normal


def run(run_onnx, op, feed, constants, order=None, outputs=None, **attrs):
    attrs.setdefault("hidden_size", HIDDEN)
    outputs = outputs or (3 if op == "LSTM" else 2)
    run_onnx(op, feed, constants, order, outputs, **attrs).agree(1e-5)


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
@pytest.mark.parametrize("op", GATES)
def test_directions(run_onnx, op, direction, bias):
    feed, constants, _ = arrays(op, 2 if direction == "bidirectional" else 1, bias)
    run(run_onnx, op, feed, constants, direction=direction)


@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("op", GATES)
def test_fewer_outputs(run_onnx, op, count):
    feed, constants, _ = arrays(op)
    run(run_onnx, op, feed, constants, outputs=count)


@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
@pytest.mark.parametrize("op", GATES)
def test_lengths_and_states_to_start_with(run_onnx, op, direction):
    directions = 2 if direction == "bidirectional" else 1
    feed, constants, normal = arrays(op, directions)
    feed["l"] = np.array([3, 5, 1], np.int32)
    feed["h"] = normal(directions, BATCH, HIDDEN)
    order = ["x", "w", "r", "b", "l", "h"]
    if op == "LSTM":
        feed["c"] = normal(directions, BATCH, HIDDEN)
        order.append("c")
    run(run_onnx, op, feed, constants, order, direction=direction)


def test_constant_lengths_and_states(run_onnx):
    feed, constants, normal = arrays("GRU")
    constants |= {"l": np.array([5, 5, 5], np.int32), "h": normal(1, BATCH, HIDDEN)}
    run(run_onnx, "GRU", feed, constants)
    constants |= {"l": np.array([2, 0, 5], np.int32), "h": np.zeros((1, BATCH, HIDDEN), np.float32)}
    run(run_onnx, "GRU", feed, constants)


@pytest.mark.parametrize("op", GATES)
def test_clip(run_onnx, op):
    feed, constants, _ = arrays(op)
    run(run_onnx, op, feed, constants, clip=0.4)


@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
def test_reset_after_the_product(run_onnx, direction):
    feed, constants, _ = arrays("GRU", 2 if direction == "bidirectional" else 1)
    run(run_onnx, "GRU", feed, constants, direction=direction, linear_before_reset=1)


@pytest.mark.parametrize("lengths", [False, True])
@pytest.mark.parametrize("coupled", [0, 1])
def test_peepholes_and_coupled_gates(run_onnx, coupled, lengths):
    feed, constants, normal = arrays("LSTM")
    constants["p"] = normal(1, 3 * HIDDEN)
    if lengths:
        feed["l"] = np.array([3, 5, 1], np.int32)
    order = ["x", "w", "r", "b", "l" if lengths else "", "", "", "p"]
    run(run_onnx, "LSTM", feed, constants, order, input_forget=coupled)


def test_coupled_gates(run_onnx):
    feed, constants, _ = arrays("LSTM")
    run(run_onnx, "LSTM", feed, constants, input_forget=1)


ACTIVATIONS = [
    "Relu", "Tanh", "Sigmoid", "Affine", "LeakyRelu", "ThresholdedRelu", "ScaledTanh",
    "HardSigmoid", "Elu", "Softsign", "Softplus",
]  # fmt: skip


@pytest.mark.parametrize("name", ACTIVATIONS)
@pytest.mark.parametrize("op", GATES)
def test_activations(run_onnx, op, name):
    # Beyond two steps onnxruntime's Softplus of gates without bounds overflows.
    feed, constants, _ = arrays(op, sizes=(2, BATCH, INPUTS, HIDDEN))
    names = [name] * FUNCTIONS[op]
    given = {"activation_alpha": [0.3] * len(names), "activation_beta": [0.6] * len(names)}
    run(run_onnx, op, feed, constants, activations=names, **given)


def test_activations_of_each_direction(run_onnx):
    feed, constants, _ = arrays("LSTM", 2)
    names = ["HardSigmoid", "Tanh", "Softsign", "Sigmoid", "ScaledTanh", "Tanh"]
    given = {"activation_alpha": [0.3, 0.9], "activation_beta": [0.4, 1.1]}
    run(run_onnx, "LSTM", feed, constants, direction="bidirectional", activations=names, **given)


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    op=st.sampled_from(sorted(GATES)),
    sizes=st.tuples(*[st.integers(1, n) for n in (6, 4, 9, 35)]),
    direction=st.sampled_from(["forward", "reverse", "bidirectional"]),
    lengths=st.booleans(), states=st.booleans(), bias=st.booleans(), after=st.booleans(),
    seed=st.integers(0, 1000),
)  # fmt: skip
def test_any_sizes(run_onnx, op, sizes, direction, lengths, states, bias, after, seed):
    steps, batch, _, hidden = sizes
    directions = 2 if direction == "bidirectional" else 1
    feed, constants, normal = arrays(op, directions, bias, seed, sizes)
    order = ["x", "w", "r", "b" if bias else "", "", ""]
    if lengths:
        rng = np.random.default_rng(seed)
        feed["l"], order[4] = rng.integers(1, steps + 1, batch).astype(np.int32), "l"
    if states:
        feed["h"], order[5] = normal(directions, batch, hidden), "h"
    more = {"linear_before_reset": int(after)} if op == "GRU" else {}
    run(run_onnx, op, feed, constants, order, direction=direction, hidden_size=hidden, **more)


def test_several_layouts_agree():
    """onnxruntime has no layout 1: the official cases and layout 0 are the truth for it."""
    feed, constants, _ = arrays("LSTM")
    outputs = {}
    for layout in (0, 1):
        x = feed["x"] if layout == 0 else feed["x"].transpose(1, 0, 2).copy()
        node = helper.make_node(
            "LSTM", ["x", *constants], ["y", "h", "c"], hidden_size=HIDDEN, layout=layout
        )
        graph = helper.make_graph(
            [node],
            "graph",
            [helper.make_tensor_value_info("x", 1, x.shape)],
            [helper.make_tensor_value_info(n, 1, None) for n in "yhc"],
            [numpy_helper.from_array(a, n) for n, a in constants.items()],
        )
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)])
        outputs[layout] = Session(build_file(load(model))).run({"x": x})
    for name, perm in {"y": (2, 0, 1, 3), "h": (1, 0, 2), "c": (1, 0, 2)}.items():
        np.testing.assert_allclose(outputs[1][name], outputs[0][name].transpose(perm), 1e-6)


def integer_node(integers, cell, sizes, functions, lengths, states, spread=0.1, **attrs):
    """A node of int16 with all that its cell gives, and hidden and cell state of own scales."""
    steps, batch, hidden = sizes
    gates = {RecurrentCell.Rnn: 1, RecurrentCell.Gru: 3, RecurrentCell.Lstm: 4}[cell]
    gives = [RecurrentOutput.Hidden, RecurrentOutput.LastHidden]
    if cell == RecurrentCell.Lstm:
        gives.append(RecurrentOutput.LastCell)
    rng = integers.rng
    weights = rng.normal(0, spread, (gates * hidden, hidden)).astype(np.float32)
    bias = np.zeros(gates * hidden, np.float32)
    if attrs.get("reset_after"):
        bias[2 * hidden :] = rng.normal(0, 1, hidden)
    cell_state = states and cell == RecurrentCell.Lstm
    inputs = [
        integers.value16((steps, batch, gates * hidden), 2.0**-11),
        integers.plain(np.int32, (batch,)) if lengths else None,
        integers.value16((batch, hidden), 2.0**-14) if states else None,
        integers.value16((batch, hidden), 2.0**-10) if cell_state else None,
        constant(weights, "r"),
        constant(bias, "b") if bias.any() else None,
        None,
    ]
    flags = dict.fromkeys(("reverse", "reset_after", "coupled"), False)
    flags |= {"clip": 0.0, "cell_limit": 0.0} | attrs
    node = integers.node(
        "Recurrent", inputs, QuantParams.int16(2.0**-15), cell=cell, gives=tuple(gives),
        functions=tuple(CellFunction(f) for f in functions),
        gate_quant=QuantParams.int16(9.0 / 32767), cell_quant=QuantParams.int16(5.0 / 32767),
        **flags,
    )  # fmt: skip
    for bit, v in zip(gives, node.outputs, strict=True):
        v.quant = QuantParams.int16(4.0 / 32767 if bit == RecurrentOutput.LastCell else 2.0**-15)
    return node


SIGMOID, TANH = RecurrentFn.Sigmoid, RecurrentFn.Tanh
CELLS = {
    "rnn": (RecurrentCell.Rnn, [TANH], {}),
    "gru": (RecurrentCell.Gru, [SIGMOID, TANH], {}),
    "gru-after": (RecurrentCell.Gru, [SIGMOID, TANH], {"reset_after": True}),
    "lstm": (RecurrentCell.Lstm, [SIGMOID, TANH, TANH], {}),
    "lstm-limited": (RecurrentCell.Lstm, [SIGMOID, TANH, TANH], {"cell_limit": 0.875}),
    "lstm-coupled": (RecurrentCell.Lstm, [SIGMOID, TANH, TANH], {"coupled": True, "clip": 2.0}),
}
INTEGER_SIZES = [(4, 1, 1), (3, 2, 5), (5, 1, 16), (2, 3, 33), (7, 1, 64)]


def feed_of(integers, node):
    feed = {v: integers.data(v) for v in node.dynamic_inputs}
    for v in feed:
        if v.dtype == np.int32:
            feed[v] = integers.rng.integers(-1, node.input(0).shape[0] + 2, v.shape).astype(
                np.int32
            )
    return feed


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("extra", [False, True])
@pytest.mark.parametrize("sizes", INTEGER_SIZES)
@pytest.mark.parametrize("name", CELLS)
def test_integers(integers, name, sizes, extra, reverse):
    cell, functions, attrs = CELLS[name]
    node = integer_node(integers, cell, sizes, functions, extra, extra, reverse=reverse, **attrs)
    integers.agree(node, feed_of(integers, node))


@pytest.mark.parametrize("spread", [1e-3, 3.0])
@pytest.mark.parametrize("name", CELLS)
def test_integers_of_small_and_large_weights(integers, name, spread):
    cell, functions, attrs = CELLS[name]
    node = integer_node(integers, cell, (6, 2, 17), functions, True, True, spread, **attrs)
    integers.agree(node, feed_of(integers, node))


def real_states(node, q):
    """The hidden states in double precision, of the dequantized inputs and the stored weights."""
    x, attrs = q.astype(np.float64) * node.input(0).quant.scalar, node.attrs
    fixed = fixed_of(node)
    step = np.abs(node.input(4).const).max(axis=1) / 127.0
    weights = fixed.weights * step[:, None].astype(np.float64)
    bias = 0 if node.inputs[5] is None else node.inputs[5].const
    n, h = weights.shape[1], np.zeros((x.shape[1], weights.shape[1]))
    c, found = h, []
    for row in x:
        if attrs["cell"] == RecurrentCell.Gru:
            z, r = np.split(expit(row[:, : 2 * n] + h @ weights[: 2 * n].T), 2, axis=1)
            last, offset = weights[2 * n :], np.broadcast_to(bias, 3 * n)[2 * n :]
            product = r * (h @ last.T + offset) if attrs["reset_after"] else (r * h) @ last.T
            h = (1 - z) * np.tanh(row[:, 2 * n :] + product) + z * h
        elif attrs["cell"] == RecurrentCell.Lstm:
            i, o, f, g = np.split(row + h @ weights.T, 4, axis=1)
            c = expit(f) * c + expit(i) * np.tanh(g)
            h = expit(o) * np.tanh(c)
        else:
            h = np.tanh(row + h @ weights.T)
        found.append(h)
    return np.stack(found)


@pytest.mark.parametrize("name", ["rnn", "gru", "gru-after", "lstm"])
def test_integers_are_near_the_real_layer(integers, name):
    cell, functions, attrs = CELLS[name]
    node = integer_node(integers, cell, (40, 2, 24), functions, False, False, **attrs)
    q = integers.rng.normal(0, 1500, node.input(0).shape).astype(np.int16)
    found = integers.agree(node, {node.input(0): q})
    # 12 bits: gates are in steps of 9 / 2^15, tables off by less.
    np.testing.assert_allclose(found * 2.0**-15, real_states(node, q), atol=2.0**-11)


@pytest.mark.parametrize("name", ["gru", "lstm"])
def test_states_do_not_drift(integers, name):
    """100,000 steps of one input: the state settles, and stays."""
    cell, functions, attrs = CELLS[name]
    node = integer_node(integers, cell, (100_000, 1, 4), functions, False, False, **attrs)
    q = np.broadcast_to(integers.rng.normal(0, 1500, 16)[: node.input(0).shape[2]],
                        node.input(0).shape).astype(np.int16)  # fmt: skip
    got = Session(build_file(graph_of(node))).run_raw({node.input(0).name: q})["out"]
    np.testing.assert_array_equal(got[-1000:], np.broadcast_to(got[-1], got[-1000:].shape))
    real = real_states(node, q[:2000])[-1]
    np.testing.assert_allclose(got[-1] * 2.0**-15, real, atol=2.0**-9)


def test_what_has_no_integers(integers):
    cell, functions, _ = CELLS["lstm"]
    node = integer_node(integers, cell, (2, 1, 4), functions, False, False)
    op = definition("Recurrent")
    assert op.problem(node, W8A16) is None
    assert "int8" in op.problem(node, W8A8)
    node.attrs["functions"] = tuple(CellFunction(f) for f in (SIGMOID, RecurrentFn.Relu, TANH))
    assert "Relu" in op.problem(node, W8A16)
    node.attrs["functions"] = tuple(CellFunction(f) for f in (TANH, TANH, TANH))
    assert "Tanh" in op.problem(node, W8A16)

"""Recurrent layers through the quantizer: integer only, close to the float model."""

from __future__ import annotations

import numpy as np
import onnxruntime as ort
import pytest
from onnx import helper, numpy_helper

from edgekit.toolkit.build import build_file
from edgekit.toolkit.interpret import interpret
from edgekit.toolkit.onnx_import import load
from edgekit.toolkit.passes import DEFAULT, FINITE, run_passes
from edgekit.toolkit.quantize import quantize_model
from edgekit.toolkit.runtime import Session, kernel_tables

GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}
STEPS, INPUTS, HIDDEN = 12, 6, 16
PEEPHOLES = ["", "", "p"]


def layer(op, directions, outputs, read, more=(), **attrs):
    """A layer, and a Gemm of what it ends with; `more` are inputs besides x; "p" is a constant."""
    rng = np.random.default_rng(3)
    rows = GATES[op] * HIDDEN
    constants = {
        "w": rng.normal(0, 0.4, (directions, rows, INPUTS)),
        "r": rng.normal(0, 0.25, (directions, rows, HIDDEN)),
        "b": rng.normal(0, 0.2, (directions, 2 * rows)),
        "last": rng.normal(0, 0.3, (HIDDEN, 5)),
        "p": rng.normal(0, 0.5, (directions, 3 * HIDDEN)),
    }
    order = ["x", "w", "r", "b", "", *more]
    nodes = [
        helper.make_node(op, order, outputs, hidden_size=HIDDEN, **attrs),
        helper.make_node("MatMul", [outputs[1], "last"], ["logits"]),
    ]
    state = (directions, 1, HIDDEN)
    shapes = {"x": (STEPS, 1, INPUTS)} | {name: state for name in more if name not in ("", "p")}
    graph = helper.make_graph(
        nodes,
        "graph",
        [helper.make_tensor_value_info(n, 1, s) for n, s in shapes.items()],
        [helper.make_tensor_value_info(n, 1, None) for n in ("logits", *read)],
        [numpy_helper.from_array(a.astype(np.float32), n) for n, a in constants.items()],
    )
    opsets = [helper.make_opsetid("", 17)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8), shapes


def quantized(model, shapes, count=32, **options):
    rng = np.random.default_rng(1)
    samples = [
        {n: np.tanh(rng.normal(0, 1.5, s)).astype(np.float32) for n, s in shapes.items()}
        for _ in range(2 * count)
    ]
    graph = load(model)
    run_passes(graph, (*DEFAULT, *FINITE))
    found = quantize_model(graph, samples[:count], **options)
    return graph, found, samples[count:]


def sqnr_db(graph, made, samples):
    floats, integers = Session(build_file(graph)), Session(build_file(made))
    found = {}
    for name in floats.run(samples[0]):
        pairs = [(floats.run(s)[name], integers.run(s)[name]) for s in samples]
        noise = sum(float(((a - b) ** 2).sum()) for a, b in pairs)
        found[name] = 10 * np.log10(sum(float((a**2).sum()) for a, _ in pairs) / noise)
    return found


@pytest.mark.parametrize(
    ("op", "directions", "outputs", "read", "more", "attrs"),
    [
        ("RNN", 1, ["y", "h"], [], [], {}),
        ("GRU", 1, ["", "h"], [], [], {}),
        ("GRU", 1, ["y", "h"], ["y"], [], {"linear_before_reset": 1}),
        ("GRU", 2, ["y", "h"], ["y"], [], {"direction": "bidirectional"}),
        ("LSTM", 1, ["", "h", "c"], ["c"], [], {}),
        ("LSTM", 1, ["y", "h", "c"], ["y", "h", "c"], ["h0", "c0"], {}),
        ("LSTM", 1, ["y", "h"], ["y"], ["h0"], {"direction": "reverse", "clip": 3.0}),
        ("RNN", 1, ["y", "h"], ["y"], ["h0"], {"activations": ["Relu"]}),
    ],
)
def test_it_is_integer_and_close(op, directions, outputs, read, more, attrs):
    model, shapes = layer(op, directions, outputs, read, more, **attrs)
    graph, found, fresh = quantized(model, shapes)
    dtypes = {v.dtype.name for n in found.graph.nodes if n.op == "Recurrent" for v in n.outputs}
    assert dtypes == {"int16"}, found.decisions
    assert not any(v.dtype == np.float32 for n in found.graph.nodes for v in n.outputs)
    for name, db in sqnr_db(graph, found.graph, fresh).items():
        assert db > (40 if name in "yc" else 25), (name, db)  # others are int8
    feed = {
        p.name: p.value.quant.quantize(fresh[0][p.name]).reshape(p.value.shape)
        for p in found.graph.inputs
    }
    wanted = interpret(found.graph, feed)
    for table in kernel_tables():
        got = Session(build_file(found.graph), table).run_raw(feed)
        for port in found.graph.outputs:
            array = wanted[port.name].reshape(port.shape)
            np.testing.assert_array_equal(got[port.name], array, err_msg=table)


@pytest.mark.parametrize(
    ("op", "attrs"),
    [("RNN", {}), ("GRU", {}), ("GRU", {"linear_before_reset": 1}), ("LSTM", {})],
)
def test_weights_of_4_bits_are_close(op, attrs):
    """Of both directions: each has weights of its own."""
    attrs = {"direction": "bidirectional", **attrs}
    model, shapes = layer(op, 2, ["y", "h"], ["y"], **attrs)
    graph, found, fresh = quantized(model, shapes, weights="int4")
    nodes = [n for n in found.graph.nodes if n.op == "Recurrent"]
    assert [n.attrs["storage"].codec for n in nodes] == ["Nibbles"] * 2
    assert sqnr_db(graph, found.graph, fresh)["y"] > 20
    whole = quantized(model, shapes)[1].graph
    saved = len(build_file(whole)) - len(build_file(found.graph))
    assert saved > GATES[op] * HIDDEN * HIDDEN - 256  # half of two matrices, but for padding
    feed = {
        p.name: p.value.quant.quantize(fresh[0][p.name]).reshape(p.value.shape)
        for p in found.graph.inputs
    }
    wanted = interpret(found.graph, feed)["y"]
    for table in kernel_tables():
        got = Session(build_file(found.graph), table).run_raw(feed)["y"]
        np.testing.assert_array_equal(got.ravel(), wanted.ravel(), err_msg=table)


def test_what_has_no_integers_stays_float_and_says_so():
    model, shapes = layer("LSTM", 1, ["", "h"], [], activations=["Sigmoid", "Relu", "Tanh"])
    graph, found, fresh = quantized(model, shapes)
    (why,) = (d.why for d in found.decisions if d.op == "Recurrent")
    assert "Relu" in why
    assert sqnr_db(graph, found.graph, fresh)["logits"] > 30


def test_peepholes_are_those_of_onnxruntime():
    direction = {"direction": "bidirectional", "clip": 3.0}
    model, shapes = layer("LSTM", 2, ["y", "h", "c"], ["y", "c"], PEEPHOLES, **direction)
    _, found, fresh = quantized(model, shapes)
    dtypes = {v.dtype.name for n in found.graph.nodes if n.op == "Recurrent" for v in n.outputs}
    assert dtypes == {"int16"}, found.decisions
    integers = Session(build_file(found.graph))
    floats = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    for i, name in enumerate(("logits", "y", "c")):
        pairs = [(floats.run(None, s)[i], integers.run(s)[name]) for s in fresh]
        noise = sum(float(((a - b.reshape(a.shape)) ** 2).sum()) for a, b in pairs)
        db = 10 * np.log10(sum(float((a**2).sum()) for a, _ in pairs) / noise)
        assert db > 30, (name, db)


def test_states_of_all_steps_have_room():
    """Cell states have room beyond those of the last step, which is all that an output shows."""
    model, shapes = layer("LSTM", 1, ["", "h", "c"], ["c"])
    graph, found, fresh = quantized(model, shapes)
    (node,) = (n for n in found.graph.nodes if n.op == "Recurrent")
    assert node.attrs["cell_quant"].scalar > node.outputs[1].quant.scalar
    assert sqnr_db(graph, found.graph, fresh)["c"] > 40

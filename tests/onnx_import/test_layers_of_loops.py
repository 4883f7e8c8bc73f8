"""Loops and Scans that write an RNN, GRU or LSTM out: read as one, as onnxruntime computes them."""

from __future__ import annotations

import numpy as np
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

from edgekit.toolkit.build import build_file
from edgekit.toolkit.model_files import load
from edgekit.toolkit.onnx_import.control import flow
from edgekit.toolkit.ops.control.regions import bodies
from edgekit.toolkit.runtime import Session

FLOAT, BOOL, INT64 = TensorProto.FLOAT, TensorProto.BOOL, TensorProto.INT64
node, info = helper.make_node, helper.make_tensor_value_info
T, B, N, H = 5, 2, 3, 4
RNG = np.random.default_rng(0)


def const(name, *shape, value=None):
    array = RNG.normal(size=shape) if value is None else np.array(value)
    dtype = np.float32 if array.dtype.kind == "f" else np.int64
    return numpy_helper.from_array(array.astype(dtype), name)


WEIGHTS = {
    gates: [const("w", N, gates * H), const("u", H, gates * H), const("b", gates * H)]
    for gates in (1, 3, 4)
}
COMMON = [
    const("one", value=1.0), const("three", value=3.0), const("zero", value=0.0),
    const("six", value=6.0), const("sixth", value=1 / 6), const("at0", value=0),
    const("at1", value=1), const("last", value=T - 1),
]  # fmt: skip


def gates_of(count, name="g"):
    """`name` = x @ w + h @ u + b, in `count` parts."""
    return [
        node("MatMul", ["x", "w"], ["xw"]), node("MatMul", ["h", "u"], ["hu"]),
        node("Add", ["xw", "b"], ["xwb"]), node("Add", ["xwb", "hu"], [name]),
        *([node("Split", [name], [f"{name}{k}" for k in range(count)], axis=-1)] * (count > 1)),
    ]  # fmt: skip


RNN = (1, [*gates_of(1), node("Tanh", ["g"], ["h1"])])
RELU = (1, [*gates_of(1), node("Relu", ["g"], ["h1"])])

CELL = [
    node("Mul", ["f", "c"], ["fc"]), node("Mul", ["i", "a"], ["ia"]),
    node("Add", ["fc", "ia"], ["c1"]), node("Tanh", ["c1"], ["tc"]),
    node("Mul", ["tc", "o"], ["h1"]),
]  # fmt: skip
LSTM = (4, [
    *gates_of(4), node("Sigmoid", ["g0"], ["i"]), node("Sigmoid", ["g1"], ["f"]),
    node("Tanh", ["g2"], ["a"]), node("Sigmoid", ["g3"], ["o"]), *CELL,
])  # fmt: skip
JOINED = (4, [  # one matrix for x and h, and one sigmoid for three gates
    node("Concat", ["x", "h"], ["xh"], axis=1), node("Concat", ["w", "u"], ["wu"], axis=0),
    node("Gemm", ["xh", "wu", "b"], ["g"]), node("Split", ["g"], ["g3", "ga"], axis=1,
                                                 num_outputs=2),
    node("Split", ["g3"], ["gi", "gf"], axis=1, num_outputs=2),
    node("Split", ["ga"], ["go", "gt"], axis=1, num_outputs=2),
    node("Concat", ["gi", "gf", "go"], ["three_gates"], axis=1),
    node("Sigmoid", ["three_gates"], ["s"]),
    node("Split", ["s"], ["i", "f", "o"], axis=1, num_outputs=3),
    node("Tanh", ["gt"], ["a"]), *CELL,
])  # fmt: skip


def hard(x, y):
    return [
        node("Add", [x, "three"], [f"{y}+"]), node("Clip", [f"{y}+", "zero", "six"], [f"{y}6"]),
        node("Mul", [f"{y}6", "sixth"], [y]),
    ]  # fmt: skip


HARD = (4, [
    *gates_of(4), *hard("g0", "i"), *hard("g1", "f"), node("Tanh", ["g2"], ["a"]), *hard("g3", "o"),
    *CELL,
])  # fmt: skip

PARTS = [
    node("MatMul", ["x", "w"], ["xw"]), node("Split", ["xw"], ["xz", "xr", "xn"], axis=1),
    node("Split", ["b"], ["bz", "br", "bn"], axis=0),
    node("Split", ["u"], ["uz", "ur", "un"], axis=1), node("MatMul", ["h", "uz"], ["hz"]),
    node("MatMul", ["h", "ur"], ["hr"]), node("Sum", ["xz", "hz", "bz"], ["gz"]),
    node("Sum", ["xr", "hr", "br"], ["gr"]), node("Sigmoid", ["gz"], ["z"]),
    node("Sigmoid", ["gr"], ["r"]),
]  # fmt: skip
BEFORE = [
    node("Mul", ["r", "h"], ["rh"]), node("MatMul", ["rh", "un"], ["rhn"]),
    node("Sum", ["xn", "rhn", "bn"], ["gn"]), node("Tanh", ["gn"], ["n"]),
]  # fmt: skip
AFTER = [
    node("MatMul", ["h", "un"], ["hn"]), node("Add", ["hn", "bn"], ["hnb"]),
    node("Mul", ["hnb", "r"], ["rhn"]), node("Add", ["rhn", "xn"], ["gn"]),
    node("Tanh", ["gn"], ["n"]),
]  # fmt: skip
KEEPS = [
    node("Sub", ["one", "z"], ["nz"]), node("Mul", ["nz", "n"], ["new"]),
    node("Mul", ["z", "h"], ["old"]), node("Add", ["old", "new"], ["h1"]),
]  # fmt: skip
MOVES = [  # h + z * (n - h): z is of the new
    node("Sub", ["n", "h"], ["d"]), node("Mul", ["z", "d"], ["zd"]),
    node("Add", ["h", "zd"], ["h1"]),
]  # fmt: skip
FROM_NEW = [  # n + z * (h - n)
    node("Sub", ["h", "n"], ["d"]), node("Mul", ["z", "d"], ["zd"]),
    node("Add", ["n", "zd"], ["h1"]),
]  # fmt: skip

LAYERS = {
    "rnn": RNN, "relu": RELU, "lstm": LSTM, "joined": JOINED, "hard": HARD,
    "gru before": (3, [*PARTS, *BEFORE, *KEEPS]), "gru after": (3, [*PARTS, *AFTER, *KEEPS]),
    "gru moves": (3, [*PARTS, *BEFORE, *MOVES]), "gru from new": (3, [*PARTS, *AFTER, *FROM_NEW]),
}  # fmt: skip

OTHERS = {
    "a tanh of the sum": (1, [*gates_of(1), node("Tanh", ["g"], ["t"]), node("Add", ["t", "h"],
                                                                           ["h1"])]),
    "no gate": (4, [*LSTM[1][:-2], node("Mul", ["c1", "o"], ["h1"])]),
    "another function": (3, [*PARTS[:-1], node("Tanh", ["gr"], ["r"]), *BEFORE, *KEEPS]),
    "new state twice": (3, [*PARTS, *BEFORE, *KEEPS[:-1], node("Sum", ["old", "new", "new"],
                                                               ["h1"])]),
    "a gate of the cell": (4, [*gates_of(4), node("Add", ["g0", "c"], ["gc"]),
                               node("Sigmoid", ["gc"], ["i"]), *LSTM[1][6:]]),
}  # fmt: skip


def states(nodes):
    return ["h", "c"] if any("c1" in n.output for n in nodes) else ["h"]


def looped(kind, index="at", axis=0, seed=False):
    """A Loop over rows of X, and what it is fed with; `index` counts by itself if it is not at."""
    gates, nodes = kind
    names = states(nodes)
    counts = [] if index == "at" else ["k"]
    read = [node("Gather", ["X", "k" if counts else "at"], ["x"], axis=axis)]
    if counts:
        read.append(node(index, ["k", "at1"], ["k1"]))
    keep = [node("Identity", ["w"], ["w_same"]), node("Identity", ["on"], ["on1"])]
    inner = [n for n in nodes if n.op_type != "MatMul" or n.input != ["x", "w"]]
    inner = [node("MatMul", ["x", "w_in"], ["xw"]), *inner] if len(inner) < len(nodes) else nodes
    step = helper.make_graph(
        [*read, *inner, *keep, node("Identity", ["h1"], ["row"]),
         node("Identity", ["w_in"], ["w_out"])],
        "step",
        [info("at", INT64, []), info("on", BOOL, []), info("w_in", FLOAT, [N, gates * H]),
         *(info(n, FLOAT, [B, H]) for n in names), *(info(n, INT64, []) for n in counts)],
        [info("on1", BOOL, []), info("w_out", FLOAT, [N, gates * H]),
         *(info(f"{n}1", FLOAT, [B, H]) for n in names),
         *(info(f"{n}1", INT64, []) for n in counts),
         info("row", FLOAT, [B, H])],
    )  # fmt: skip
    begin = {"Add": "at0", "Sub": "last"}.get(index)
    outputs = [f"{n}_last" for n in names]
    loop = node(
        "Loop", ["trips", "", "w", *(f"{n}0" for n in names), *([begin] if counts else [])],
        ["w_all", *outputs, *(["k_all"] if counts else []), "Y"], body=step,
    )  # fmt: skip
    shape = [T, B, N] if axis == 0 else [B, T, N]
    inputs = [info("X", FLOAT, shape), *(info(f"{n}0", FLOAT, [B, H]) for n in names)]
    results = [info("Y", FLOAT, [T, B, H]), *(info(n, FLOAT, [B, H]) for n in outputs)]
    constants = [*WEIGHTS[gates], *COMMON, const("trips", value=T)]
    return helper.make_graph([loop], "g", inputs, results, constants)


def scanned(kind, backwards=0, out=0):
    gates, nodes = kind
    names = states(nodes)
    step = helper.make_graph(
        [*nodes, node("Identity", ["h1"], ["row"])], "step",
        [*(info(n, FLOAT, [B, H]) for n in names), info("x", FLOAT, [B, N])],
        [*(info(f"{n}1", FLOAT, [B, H]) for n in names), info("row", FLOAT, [B, H])],
    )  # fmt: skip
    outputs = [f"{n}_last" for n in names]
    scan = node(
        "Scan", [*(f"{n}0" for n in names), "X"], [*outputs, "Y"], body=step, num_scan_inputs=1,
        scan_input_axes=[1], scan_input_directions=[backwards], scan_output_directions=[out],
        scan_output_axes=[1],
    )  # fmt: skip
    inputs = [info("X", FLOAT, [B, T, N]), *(info(f"{n}0", FLOAT, [B, H]) for n in names)]
    results = [info("Y", FLOAT, [B, T, H]), *(info(n, FLOAT, [B, H]) for n in outputs)]
    return helper.make_graph([scan], "g", inputs, results, [*WEIGHTS[gates], *COMMON])


def agree(graph, lazily=True):
    """With onnxruntime; the operators of the graph."""
    opsets = [helper.make_opsetid("", 18)]
    for each in graph.node:
        splits(each)
    content = helper.make_model(graph, opset_imports=opsets, ir_version=9).SerializeToString()
    ours = load(content, lazily=lazily)
    rng = np.random.default_rng(1)
    feed = {
        v.name: rng.normal(size=[d.dim_value for d in v.type.tensor_type.shape.dim])
        for v in graph.input
    }
    feed = {k: v.astype(np.float32) for k, v in feed.items()}
    wanted = onnxruntime.InferenceSession(content).run(None, feed)
    found = Session(build_file(ours)).run(feed)
    for (name, array), want in zip(found.items(), wanted, strict=True):
        np.testing.assert_allclose(array, want, 1e-5, 1e-6, err_msg=name)
    return [n.op for n in ours.nodes], ours


def splits(control):
    """Give every Split inside its number of outputs, as this opset wants it."""
    for n in next(a.g for a in control.attribute if a.name == "body").node:
        if n.op_type == "Split" and not any(a.name == "num_outputs" for a in n.attribute):
            n.attribute.append(helper.make_attribute("num_outputs", len(n.output)))


@pytest.mark.parametrize("lazily", [True, False])
@pytest.mark.parametrize("kind", LAYERS)
def test_a_loop_that_is_a_layer_is_read_as_one(kind, lazily):
    ops, graph = agree(looped(LAYERS[kind]), lazily)
    assert ops.count("Recurrent") == 1 and "Loop" not in ops and len(ops) < 12
    assert graph.notes == []


@pytest.mark.parametrize("kind", LAYERS)
@pytest.mark.parametrize(("backwards", "out"), [(0, 0), (1, 0), (1, 1)])
def test_a_scan_that_is_a_layer_is_read_as_one(kind, backwards, out):
    ops, _ = agree(scanned(LAYERS[kind], backwards, out))
    assert ops.count("Recurrent") == 1 and "Loop" not in ops


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("index", ["Add", "Sub"])
def test_rows_may_be_counted_by_a_state_and_backwards(index, axis):
    ops, _ = agree(looped(LAYERS["lstm"], index, axis))
    assert ops.count("Recurrent") == 1


@pytest.mark.parametrize("lazily", [True, False])
@pytest.mark.parametrize("kind", OTHERS)
def test_what_is_no_such_layer_stays_as_it_is(kind, lazily):
    ops, _ = agree(looped(OTHERS[kind]), lazily)
    assert "Recurrent" not in ops


def test_states_that_no_step_changes_are_not_carried(monkeypatch):
    monkeypatch.setattr(flow, "SHORT", 0)
    _, graph = agree(looped(OTHERS["no gate"]))
    (loop,) = (n for n in graph.nodes if n.op == "Loop")
    (body,) = bodies(loop)
    products = [n for n in body.nodes if n.op in ("MatMul", "FullyConnected")]
    assert [n.op for n in products] == ["FullyConnected"] * 2

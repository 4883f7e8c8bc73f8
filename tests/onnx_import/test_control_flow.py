"""If, Loop and Scan become the nodes that they stand for."""

from __future__ import annotations

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

from edgekit.toolkit.build import build_file
from edgekit.toolkit.errors import UnsupportedError, UserError
from edgekit.toolkit.onnx_import import load
from edgekit.toolkit.onnx_import.control import flow as control_flow
from edgekit.toolkit.passes import DEFAULT, run_passes
from edgekit.toolkit.runtime import Session

FLOAT, BOOL, INT64 = TensorProto.FLOAT, TensorProto.BOOL, TensorProto.INT64


def info(name, shape=None, element=FLOAT):
    return helper.make_tensor_value_info(name, element, shape)


def const(name, value):
    return numpy_helper.from_array(np.array(value), name)


def body(nodes, inputs, outputs, constants=()):
    return helper.make_graph(nodes, "body", inputs, outputs, list(constants))


def model(nodes, inputs, outputs, constants=(), opset=17):
    graph = helper.make_graph(nodes, "graph", inputs, outputs, list(constants))
    opsets = [helper.make_opsetid("", opset)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


def agree(made, feed, **options):
    """With onnxruntime; the graph that runs."""
    graph = load(made, **options)
    run_passes(graph, DEFAULT)
    found = Session(build_file(graph)).run(feed)
    runtime = onnxruntime.InferenceSession(made.SerializeToString())
    for name, want in zip(found, runtime.run(list(found), feed), strict=True):
        assert found[name].shape == want.shape
        np.testing.assert_allclose(found[name], want, 1e-5, 1e-6)
    return graph


def if_of(then, other, **more):
    branches = {
        "then_branch": body(then, [], [info("t")]), "else_branch": body(other, [], [info("e")])
    }  # fmt: skip
    return helper.make_node("If", ["go"], ["y"], **branches, **more)


X = np.random.default_rng(0).normal(size=(2, 3)).astype(np.float32)


@pytest.mark.parametrize("go", [True, False])
def test_an_if_that_an_input_decides_is_both_branches_and_a_choice(go):
    nodes = [
        if_of(
            [helper.make_node("Exp", ["x"], ["a"]), helper.make_node("Neg", ["a"], ["t"])],
            [helper.make_node("Abs", ["x"], ["e"])],
            name="choice",
        )
    ]
    made = model(nodes, [info("x", (2, 3)), info("go", (), BOOL)], [info("y", (2, 3))])
    graph = agree(made, {"x": X, "go": np.array(go)})
    assert [n.op for n in graph.nodes].count("Where") == 1
    assert any("'choice'" in note and "both" in note for note in graph.notes)


def test_ifs_inside_of_ifs():
    inner = if_of([helper.make_node("Sqrt", ["p"], ["t"])], [helper.make_node("Neg", ["p"], ["e"])])
    inner.output[0] = "t"
    outer = if_of([helper.make_node("Abs", ["x"], ["p"]), inner],
                  [helper.make_node("Exp", ["x"], ["e"])])  # fmt: skip
    made = model([outer], [info("x", (2, 3)), info("go", (), BOOL)], [info("y", (2, 3))])
    for go in (True, False):
        agree(made, {"x": X, "go": np.array(go)})


def test_branches_of_several_shapes_are_refused():
    nodes = [
        if_of(
            [helper.make_node("ReduceSum", ["x"], ["t"])], [helper.make_node("Abs", ["x"], ["e"])]
        )
    ]
    made = model(nodes, [info("x", (2, 3)), info("go", (), BOOL)], [info("y")])
    with pytest.raises(UnsupportedError, match="in the shapes"):
        load(made)


def loop(trips, condition, again, outputs=2):
    """s = s * x + i and a row s of each step, while s[0] is known to go on."""
    nodes = [
        helper.make_node("Cast", ["i"], ["f"], to=FLOAT),
        helper.make_node("Mul", ["s", "x"], ["m"]),
        helper.make_node("Add", ["m", "f"], ["s_out"]),
        helper.make_node("Identity", ["s_out"], ["row"]),
        again,
    ]
    made = body(
        nodes,
        [info("i", (), INT64), info("c", (), BOOL), info("s", (2, 3))],
        [info("c_out", (), BOOL), info("s_out", (2, 3)), info("row", (2, 3))][: outputs + 1],
    )
    return helper.make_node("Loop", [trips, condition, "x"], ["last", "rows"][:outputs], body=made)


SAME = helper.make_node("Identity", ["c"], ["c_out"])


@pytest.mark.parametrize("condition", ["", "go"])
@pytest.mark.parametrize("trips", [1, 4])
def test_a_loop_of_a_known_length_is_unrolled(trips, condition):
    made = model(
        [loop("n", condition, SAME)],
        [info("x", (2, 3))],
        [info("last", (2, 3)), info("rows", (trips, 2, 3))],
        [const("n", trips), const("go", True)],
    )
    agree(made, {"x": X})


def test_a_loop_ends_where_its_condition_is_known_to_fail():
    two = helper.make_node("Less", ["i", "two"], ["c_out"])
    made = model(
        [loop("", "go", two)],
        [info("x", (2, 3))],
        [info("last", (2, 3)), info("rows", (3, 2, 3))],
        [const("go", True), const("two", 2)],
    )
    agree(made, {"x": X})


def while_less(trips, steps):
    """As TensorFlow's while loops: a counter and its limit are states, the rows a tensor list; what
    reads the rows asks for their number."""
    nodes = [
        helper.make_node("Add", ["at", "one"], ["at_out"]),
        helper.make_node("Gather", ["x", "at"], ["row"], axis=0),
        helper.make_node("Mul", ["s", "half"], ["m"]),
        helper.make_node("Add", ["m", "row"], ["s_out"]),
        helper.make_node("Identity", ["s_out"], ["collected"]),
        helper.make_node("Cast", ["at_out"], ["f"], to=FLOAT),
        helper.make_node("Cast", ["limit"], ["f_limit"], to=FLOAT),
        helper.make_node("Less", ["f", "f_limit"], ["c_out"]),
    ]
    made = body(
        nodes,
        [info("i", (), INT64), info("c", (), BOOL), info("at", (), INT64), info("s", (2, 3)),
         info("limit", (), INT64)],
        [info("c_out", (), BOOL), info("at_out", (), INT64), info("s_out", (2, 3)),
         info("limit", (), INT64), info("collected", (2, 3))],
    )  # fmt: skip
    results = ["last_at", "last", "last_limit", "rows"]
    return model(
        [
            helper.make_node("Shape", ["x"], ["shape"]),
            helper.make_node("Gather", ["shape", "zero"], ["limit_0"]),
            helper.make_node("Loop", [trips, "go", "zero", "s_0", "limit_0"], results, body=made),
            helper.make_node("Shape", ["rows"], ["of_rows"]),
            helper.make_node("Gather", ["of_rows", "zero"], ["n"]),
            helper.make_node("Expand", ["n", "two"], ["lengths"]),
            helper.make_node("ReverseSequence", ["rows", "lengths"], ["y"]),
        ],
        [info("x", (steps, 2, 3))],
        [info("y"), info("last", (2, 3))],
        [const("go", True), const("zero", 0), const("one", 1), const("two", [2]),
         const("most", np.int64(2**62)), const("fewer", steps - 5), const("half", np.float32(0.5)),
         const("s_0", np.zeros((2, 3), np.float32))],
    )  # fmt: skip


@pytest.mark.parametrize("lazily", [True, False])
@pytest.mark.parametrize("trips", ["", "most", "fewer"])
def test_the_steps_of_a_loop_that_constants_decide_are_counted(trips, lazily):
    made = while_less(trips, 40)
    x = np.random.default_rng(1).normal(size=(40, 2, 3)).astype(np.float32)
    graph = agree(made, {"x": x}, lazily=lazily)
    loops = [n for n in graph.nodes if n.op == "Loop"]
    steps = 35 if trips == "fewer" else 40
    assert [(n.attrs["most"], n.attrs["asked"]) for n in loops] == [(steps, False)] * lazily
    assert not [n for n in graph.notes if "computed condition" in n or "longest" in n]


def test_a_loop_that_does_not_begin_gives_what_it_was_given():
    made = model(
        [loop("n", "", SAME, outputs=1), helper.make_node("Neg", ["last"], ["y"])],
        [info("x", (2, 3))],
        [info("y", (2, 3))],
        [const("n", 0)],
    )
    agree(made, {"x": X})


@pytest.mark.parametrize("again", ["same", "less"])
@pytest.mark.parametrize("lazily", [True, False])
def test_a_loop_that_inputs_decide_has_a_graph_inside(again, lazily):
    less = helper.make_node("Less", ["i", "four"], ["c_out"])
    made = model(
        [loop("n", "go", SAME if again == "same" else less)],
        [info("x", (2, 3)), info("n", (), INT64), info("go", (), BOOL)],
        [info("last", (2, 3)), info("rows")],
        [const("four", 4)],
    )
    made = onnx.shape_inference.infer_shapes(made)
    graph = load(made, lazily=lazily)
    assert [n.op for n in graph.nodes].count("Loop") == 1
    assert any("1024 steps" in note for note in graph.notes)
    session = Session(build_file(graph))
    runtime = onnxruntime.InferenceSession(made.SerializeToString())
    for n, go in ((0, True), (1, True), (3, True), (3, False), (9, True)):
        feed = {"x": X, "n": np.array(n), "go": np.array(go)}
        for ours, theirs in zip(session.run(feed).values(), runtime.run(None, feed), strict=True):
            np.testing.assert_allclose(ours, theirs, 1e-5, 1e-6)
    if again == "same":
        with pytest.raises(UserError, match="out of range"):
            session.run({"x": X, "n": np.array(1025), "go": np.array(True)})


def counted(condition=True, again=SAME):
    """A loop of n and go, inputs both, whose rows the model says to be 3."""
    inputs = [info("x", (2, 3)), info("n", (), INT64), info("go", (), BOOL)]
    outputs = [info("last", (2, 3)), info("rows", (3, 2, 3))]
    return model(
        [loop("n", "go" if condition else "no", again)], inputs, outputs, [const("no", False)]
    )


@pytest.mark.parametrize(
    "again", [SAME, helper.make_node("Less", ["i", "two"], ["c_out"])], ids=["same", "less"]
)
def test_a_loop_is_as_long_as_the_model_says_of_its_output(again):
    made = counted(again=again)
    if again is not SAME:
        made.graph.initializer.append(const("two", 2))
    feed = {"x": X, "n": np.array(3), "go": np.array(True)}
    agree(made, feed)
    session = Session(build_file(load(made)))
    longer = session.run(feed | {"n": np.array(4)}) if again is not SAME else None
    assert longer is None or longer["rows"].shape == (3, 2, 3)
    for other in (feed | {"n": np.array(2)}, feed | {"go": np.array(False)}):
        with pytest.raises(UserError, match="out of range"):
            session.run(other)
    if again is SAME:
        with pytest.raises(UserError, match="out of range"):
            session.run(feed | {"n": np.array(4)})


def test_a_loop_that_ends_before_its_output_is_full_is_refused():
    with pytest.raises(UnsupportedError, match="condition ends it sooner"):
        load(counted(condition=False))


def test_long_loops_are_refused():
    for trips, again in ((10**9, SAME), (None, SAME)):
        made = model(
            [loop("n" if trips else "", "go", again)],
            [info("x", (2, 3))],
            [info("last", (2, 3)), info("rows")],
            [const("n", trips or 0), const("go", True)],
        )
        with pytest.raises(UnsupportedError, match=str(control_flow.MOST_STEPS)):
            load(made)


@pytest.mark.parametrize("axes", [(0, 0), (1, 2), (-1, -2)])
@pytest.mark.parametrize("directions", [(0, 0), (1, 0), (0, 1)])
def test_a_scan_is_unrolled(axes, directions):
    """A sum that runs along an axis, and its squares."""
    shape = (4, 5)
    rest = tuple(d for i, d in enumerate(shape) if i != axes[0] % 2)
    nodes = [
        helper.make_node("Add", ["s", "v"], ["s_out"]),
        helper.make_node("Mul", ["s_out", "s_out"], ["a"]),
        helper.make_node("Reshape", ["a", "to"], ["row"]),
    ]
    made_body = body(
        nodes,
        [info("s", rest), info("v", rest)],
        [info("s_out", rest), info("row", (*rest, 1))],
        [const("to", [*rest, 1])],
    )
    scan = helper.make_node(
        "Scan", ["zero", "x"], ["last", "rows"], num_scan_inputs=1, body=made_body,
        scan_input_axes=[axes[0]], scan_output_axes=[axes[1]],
        scan_input_directions=[directions[0]], scan_output_directions=[directions[1]],
    )  # fmt: skip
    made = model(
        [scan],
        [info("x", shape)],
        [info("last", rest), info("rows")],
        [const("zero", np.zeros(rest, np.float32))],
    )
    made = onnx.shape_inference.infer_shapes(made)
    agree(made, {"x": np.random.default_rng(1).normal(size=shape).astype(np.float32)})


@pytest.mark.parametrize("way", [0, 1])
def test_a_scan_of_opset_8_takes_each_sample_by_itself(way):
    """With numpy: onnxruntime refuses the operator's first version."""
    step = body(
        [helper.make_node("Sub", ["v", "s"], ["s_out"]), helper.make_node("Neg", ["s_out"], ["r"])],
        [info("s", (2,)), info("v", (2,))],
        [info("s_out", (2,)), info("r", (2,))],
    )
    scan = helper.make_node("Scan", ["", "start", "x"], ["last", "rows"], num_scan_inputs=1,
                            body=step, directions=[way])  # fmt: skip
    made = model([scan], [info("start", (3, 2)), info("x", (3, 4, 2))],
                 [info("last", (3, 2)), info("rows", (3, 4, 2))], opset=8)  # fmt: skip
    rng = np.random.default_rng(2)
    feed = {"start": rng.normal(size=(3, 2)), "x": rng.normal(size=(3, 4, 2))}
    feed = {name: array.astype(np.float32) for name, array in feed.items()}
    state, rows = feed["start"], []
    for i in range(4):
        state = feed["x"][:, 3 - i if way else i] - state
        rows.append(-state)
    found = Session(build_file(load(made))).run(feed)
    np.testing.assert_allclose(found["last"], state, 1e-5)
    np.testing.assert_allclose(found["rows"], np.stack(rows, 1), 1e-5)

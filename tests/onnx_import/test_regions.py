"""If, Loop and Scan with graphs inside: what onnxruntime makes of them, in little memory."""

from __future__ import annotations

import numpy as np
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

from edgekit.targets.fpga_opencl.config import Config
from edgekit.targets.fpga_opencl.partition import partition
from edgekit.toolkit.build import build_file, build_model
from edgekit.toolkit.errors import UserError
from edgekit.toolkit.format.schema import OpKind
from edgekit.toolkit.format.writer import write
from edgekit.toolkit.model_files import load
from edgekit.toolkit.onnx_import.control import flow
from edgekit.toolkit.plan import placed
from edgekit.toolkit.plan.records import assigned
from edgekit.toolkit.runtime import Session

RNG = np.random.default_rng(0)
FLOAT, BOOL, INT64 = TensorProto.FLOAT, TensorProto.BOOL, TensorProto.INT64
node, info = helper.make_node, helper.make_tensor_value_info


@pytest.fixture(autouse=True)
def _all_are_long(monkeypatch):
    monkeypatch.setattr(flow, "SHORT", 0)
    monkeypatch.setattr(flow, "SMALL", 0)


def floats(*shape):
    return RNG.normal(size=shape).astype(np.float32)


W = numpy_helper.from_array(floats(4, 4), "w")


def body(nodes, inputs, outputs):
    return helper.make_graph(nodes, "body", inputs, outputs)


def agree(nodes, inputs, outputs, feeds, constants=(W,)):
    """With onnxruntime, on every feed with one session; the file."""
    graph = helper.make_graph(nodes, "g", inputs, outputs, list(constants))
    opsets = [helper.make_opsetid("", 17)]
    content = helper.make_model(graph, opset_imports=opsets, ir_version=9).SerializeToString()
    runtime, ours = onnxruntime.InferenceSession(content), load(content)
    model, data = build_model(ours), build_file(ours)
    scratch = [(i, op.scratch_bytes) for i, op in enumerate(model.ops, 1)]
    again = placed(model, *assigned(model), scratch)  # as for a target
    assert again.memory.arena_bytes <= model.memory.arena_bytes
    for session in (Session(data), Session(write(again))):
        for feed in feeds:
            wanted = runtime.run(None, feed)
            found = session.run(feed)
            for (name, array), want in zip(found.items(), wanted, strict=True):
                assert array.shape == want.shape and array.dtype == want.dtype
                np.testing.assert_allclose(array, want, 1e-5, 1e-6, err_msg=name)
    return model


def borders(model):
    return sum(op.kind == OpKind.Region for op in model.ops)


def carried(name="h", shape=(2, 4)):
    return [info("i", INT64, []), info("c", BOOL, []), info(name, FLOAT, shape)]


SAME = node("Identity", ["c"], ["c_out"])
GO_ON = info("c_out", BOOL, [])


def test_only_the_branch_that_is_chosen_runs():
    yes = body([node("MatMul", ["x", "w"], ["a"]), node("Tanh", ["a"], ["y1"]),
                node("Identity", ["w"], ["w1"])], [],
               [info("y1", FLOAT, [2, 4]), info("w1", FLOAT, [4, 4])])  # fmt: skip
    no = body([node("Relu", ["x"], ["a"]), node("Gather", ["a", "at"], ["y2"], axis=0)], [],
              [info("y2", FLOAT, [2, 4]), info("xx", FLOAT, [4, 4])])  # fmt: skip
    no.node.append(node("Concat", ["x", "x"], ["xx"], axis=0))
    inputs = [info("x", FLOAT, [2, 4]), info("go", BOOL, []), info("at", INT64, [2])]
    outputs = [info("z", FLOAT, [2, 4]), info("y", FLOAT, [2, 4]), info("v", FLOAT, [4, 4])]
    nodes = [node("If", ["go"], ["y", "v"], then_branch=yes, else_branch=no),
             node("Add", ["y", "x"], ["z"])]  # fmt: skip
    x = floats(2, 4)
    feeds = [{"x": x, "go": np.array(go), "at": np.array([1, 0])} for go in (True, False)]
    assert borders(agree(nodes, inputs, outputs, feeds)) == 3
    # The other branch would stop the run.
    data = helper.make_model(helper.make_graph(nodes, "g", inputs, outputs, [W]), ir_version=9,
                             opset_imports=[helper.make_opsetid("", 17)])  # fmt: skip
    session = Session(build_file(load(data.SerializeToString())))
    session.run({"x": x, "go": np.array(True), "at": np.array([1, 9])})


def test_a_loop_collects_as_many_rows_as_it_has_steps():
    step = body(
        [node("MatMul", ["h", "w"], ["a"]), node("Tanh", ["a"], ["h2"]), SAME,
         node("ReduceSum", ["h2"], ["row"], keepdims=0), node("Greater", ["h2", "h"], ["up"]),
         node("Add", ["i", "i"], ["twice"])],
        carried(),
        [GO_ON, info("h2", FLOAT, [2, 4]), info("row", FLOAT, []), info("up", BOOL, [2, 4]),
         info("twice", INT64, [])],
    )  # fmt: skip
    agree(
        [node("Loop", ["n", "", "x"], ["y", "rows", "ups", "twos"], body=step)],
        [info("x", FLOAT, [2, 4]), info("n", INT64, [])],
        [info("y", FLOAT, [2, 4]), info("rows", FLOAT, ["k"]), info("ups", BOOL, ["k", 2, 4]),
         info("twos", INT64, ["k"])],
        [{"x": floats(2, 4), "n": np.array(n)} for n in (0, 1, 5, 7)],
    )  # fmt: skip


def test_a_loop_goes_on_while_what_it_computes_is_true():
    step = body(
        [node("Mul", ["h", "by"], ["h2"]), node("ReduceSum", ["h2"], ["s"], keepdims=0),
         node("Less", ["s", "limit"], ["c_out"]), node("Identity", ["h"], ["old"])],
        [*carried(), info("o", FLOAT, [2, 4])],
        [GO_ON, info("h2", FLOAT, [2, 4]), info("old", FLOAT, [2, 4])],
    )  # fmt: skip
    numbers = [numpy_helper.from_array(np.float32(v), n) for n, v in (("limit", 100), ("by", 1.7))]
    x = abs(floats(2, 4))
    agree(
        [node("Loop", ["", "go", "x", "x"], ["y", "before"], body=step)],
        [info("x", FLOAT, [2, 4]), info("go", BOOL, [])],
        [info("y", FLOAT, [2, 4]), info("before", FLOAT, [2, 4])],
        [{"x": x * by, "go": np.array(go)} for by, go in ((1, True), (1, False), (0.01, True))],
        numbers,
    )


def test_what_a_step_exchanges_is_read_before_it_is_overwritten():
    step = body(
        [node("Identity", ["b"], ["a2"]), node("Identity", ["a"], ["b2"]),
         node("Add", ["a", "b"], ["s"]), node("Sub", ["u", "s"], ["u2"]), SAME],
        [*carried("a", [3]), info("b", FLOAT, [3]), info("u", FLOAT, [3]), info("k", FLOAT, [3])],
        [GO_ON, *(info(n, FLOAT, [3]) for n in ("a2", "b2", "u2", "k", "s"))],
    )  # fmt: skip
    agree(
        [node("Loop", ["n", "", "p", "q", "q", "p"], ["a9", "b9", "u9", "k9", "rows"], body=step)],
        [info("p", FLOAT, [3]), info("q", FLOAT, [3]), info("n", INT64, [])],
        [*(info(n, FLOAT, [3]) for n in ("a9", "b9", "u9", "k9")), info("rows", FLOAT, ["n", 3])],
        [{"p": floats(3), "q": floats(3), "n": np.array(n)} for n in (0, 1, 2, 5)],
    )


@pytest.mark.parametrize("back", [0, 1])
def test_a_long_scan_takes_the_operators_of_one_step(back):
    step = body(
        [node("Add", ["v", "h"], ["a"]), node("MatMul", ["a", "w"], ["b"]),
         node("Tanh", ["b"], ["h2"]), node("Neg", ["h2"], ["o"])],
        [info("h", FLOAT, [2, 4]), info("v", FLOAT, [2, 4])],
        [info("h2", FLOAT, [2, 4]), info("o", FLOAT, [2, 4])],
    )  # fmt: skip
    model = agree(
        [node("Scan", ["h0", "xs"], ["last", "all"], body=step, num_scan_inputs=1,
              scan_input_axes=[1], scan_output_axes=[2], scan_input_directions=[back],
              scan_output_directions=[1 - back])],
        [info("h0", FLOAT, [2, 4]), info("xs", FLOAT, [2, 100, 4])],
        [info("last", FLOAT, [2, 4]), info("all", FLOAT, [2, 4, 100])],
        [{"h0": floats(2, 4), "xs": floats(2, 100, 4)} for _ in range(2)],
    )  # fmt: skip
    assert len(model.ops) <= 13 and model.memory.macs == 100 * 2 * 4 * 4


def test_loops_and_branches_in_a_loop():
    inner = body([node("Add", ["h", "d"], ["h2"]), SAME], carried(shape=(4,)),
                 [GO_ON, info("h2", FLOAT, [4])])  # fmt: skip
    yes = body([node("Mul", ["q", "q"], ["t"]), node("Tanh", ["t"], ["y1"])], [],
               [info("y1", FLOAT, [4])])  # fmt: skip
    no = body([node("Sin", ["q"], ["y2"])], [], [info("y2", FLOAT, [4])])
    step = body(
        [node("Cast", ["j"], ["f"], to=FLOAT), node("Add", ["s", "f"], ["s1"]),
         node("Loop", ["j", "", "s1"], ["q"], body=inner),
         node("ReduceSum", ["q"], ["sum"], keepdims=0), node("Less", ["sum", "zero"], ["neg"]),
         node("If", ["neg"], ["s2"], then_branch=yes, else_branch=no),
         node("Identity", ["k"], ["k_out"])],
        [info("j", INT64, []), info("k", BOOL, []), info("s", FLOAT, [4])],
        [info("k_out", BOOL, []), info("s2", FLOAT, [4]), info("q", FLOAT, [4])],
    )  # fmt: skip
    model = agree(
        [node("Relu", ["x"], ["r"]), node("Loop", ["n", "", "r"], ["y", "rows"], body=step),
         node("Add", ["y", "r"], ["z"])],
        [info("x", FLOAT, [4]), info("n", INT64, [])],
        [info("z", FLOAT, [4]), info("rows", FLOAT, ["k9", 4])],
        [{"x": floats(4), "n": np.array(n)} for n in (0, 1, 2, 9)],
        [numpy_helper.from_array(floats(4), "d"), numpy_helper.from_array(np.float32(0), "zero")],
    )  # fmt: skip
    assert borders(model) == 7
    session, shown = Session(write(model)), []
    feed = {"x": floats(4), "n": np.array(3)}
    session.run_layers(feed, lambda i, name, array: shown.append(i))
    at = [i for i, op in enumerate(model.ops) if op.kind == OpKind.Region]
    assert shown == [*range(at[0]), *range(at[-1] + 1, len(model.ops))]
    assert len(session.profile(feed)) == len(model.ops)
    with pytest.raises(UserError, match="branches or loops"):
        partition(model, Config())

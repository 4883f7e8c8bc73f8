"""Attention masks: what they hide is no loss, and is not blamed for any."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper
from scipy.special import softmax

from edgekit.toolkit import pipeline
from edgekit.toolkit.accuracy import explain as explain_module
from edgekit.toolkit.accuracy.softmax_resolution import SoftmaxResolution
from edgekit.toolkit.ir import Graph, Node, Port, TensorType, Value

FLOAT, INT8, INT16 = (np.dtype(t) for t in (np.float32, np.int8, np.int16))


def masked(reshaped=False):
    """Softmax(scores + mask) over the last axis; the mask is reshaped from [6] on the way."""
    shapes = {"scores": (2, 5, 6), "mask": (6,) if reshaped else (1, 1, 6), "sum": (2, 5, 6)}
    v = {n: Value(n, TensorType(FLOAT, s)) for n, s in shapes.items()}
    y, wide = Value("y", TensorType(FLOAT, (2, 5, 6))), Value("wide", TensorType(FLOAT, (1, 1, 6)))
    nodes = [Node("Reshape", [v["mask"]], [wide], {}, "wide")] if reshaped else []
    added = wide if reshaped else v["mask"]
    nodes.append(Node("Add", [v["scores"], added], [v["sum"]], {}, "sum"))
    nodes.append(Node("Softmax", [v["sum"]], [y], {"axis": 2}, "y"))
    given = [Port(n, v[n], 1, v[n].shape) for n in ("scores", "mask")]
    return Graph(nodes, given, [Port("y", y, 1, y.shape)])


def tensors(much, reshaped=False):
    scores = np.random.default_rng(8).uniform(-4, 4, (2, 5, 6)).astype(np.float32)
    mask = np.array([0, -much, 0, 0, -much, 0], np.float32)
    total = (scores + mask).astype(np.float32)
    return {"scores": scores, "mask": mask if reshaped else mask.reshape(1, 1, 6), "sum": total}


@pytest.mark.parametrize("reshaped", [False, True])
@pytest.mark.parametrize(("dtype", "steps"), [(INT8, 255), (INT16, 65534)])
def test_less_than_half_a_step_hangs_on_what_does_not_count(reshaped, dtype, steps):
    found = tensors(1e4, reshaped)
    truth = SoftmaxResolution(masked(reshaped), {"y": dtype}).truth(found)
    assert truth.floors.keys() == {"sum", "mask"}
    exact = softmax(found["sum"].astype(np.float64), axis=2)
    off = np.abs(softmax(truth.of("sum").astype(np.float64), axis=2) - exact)
    assert off.max() < 1 / steps and truth.of("sum").min() > -20
    assert np.array_equal(truth.of("scores"), found["scores"])
    lowered = found["scores"] + truth.of("mask").reshape(1, 1, 6)
    assert np.abs(softmax(lowered.astype(np.float64), axis=2) - exact).max() < 1 / steps
    assert np.array_equal(truth.of("mask") < -1, found["mask"] < 0)
    assert truth.of("mask").min() > -30


def test_another_number_low_enough_is_no_error_and_a_high_one_is():
    found = tensors(3.4e38)
    truth = SoftmaxResolution(masked(), {"y": INT8}).truth(found)
    held = np.where(found["mask"] < 0, np.float32(-20), found["mask"])
    assert np.array_equal(truth.counted("mask", held), truth.of("mask"))
    assert np.array_equal(truth.counted("sum", found["scores"] + held), truth.of("sum"))
    high = np.where(found["mask"] < 0, np.float32(-2), found["mask"])
    assert np.abs(truth.counted("mask", high) - truth.of("mask")).max() > 1


@pytest.mark.parametrize("kind", ["other reader", "output", "not a mask"])
def test_what_something_else_reads_counts_whole(kind):
    graph, found = masked(), tensors(1e4)
    total = graph.nodes[0].output
    if kind == "other reader":
        z = Value("z", total.type)
        graph.nodes.append(Node("Tanh", [total], [z], {}, "z"))
    if kind == "output":
        graph.outputs.append(Port("sum", total, 1, total.shape))
    if kind == "not a mask":
        found["mask"] = -found["mask"]
    truth = SoftmaxResolution(graph, {"y": INT8}).truth(found)
    assert truth.floors.keys() == ({"sum"} if kind == "not a mask" else set())
    assert np.array_equal(truth.of("mask"), found["mask"])


def attention(heads=1):
    """y = x + the heads' sum of softmax(q k^T + mask) v, where q, k, v are of x; mask of keep."""
    rng = np.random.default_rng(5)
    nodes, constants = [], {"one": np.float32(1), "much": np.float32(-1e4)}

    def emit(op, inputs, output, **attrs):
        nodes.append(helper.make_node(op, inputs, [output], **attrs))
        return output

    emit("Mul", [emit("Sub", ["one", "keep"], "drop"), "much"], "mask")
    y = "x"
    for h in range(heads):
        made = {}
        for part in "qkv":
            size = 8 if part == "q" else 4
            constants[f"{part}{h}.w"] = (rng.normal(size=(16, 16)) / size).astype(np.float32)
            made[part] = emit("MatMul", ["x", f"{part}{h}.w"], f"{part}{h}")
        turned = emit("Transpose", [made["k"]], f"t{h}", perm=[0, 2, 1])
        scores = emit("MatMul", [made["q"], turned], f"scores{h}")
        total = emit("Add", [scores, "mask"], f"sum{h}")
        soft = emit("Softmax", [total], f"soft{h}", axis=2)
        out = emit("MatMul", [soft, made["v"]], f"out{h}")
        y = emit("Add", [y, out], "y" if h == heads - 1 else f"y{h}")
    graph = helper.make_graph(
        nodes,
        "g",
        [
            helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 8, 16]),
            helper.make_tensor_value_info("keep", TensorProto.FLOAT, [1, 1, 8]),
        ],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 8, 16])],
        [numpy_helper.from_array(np.asarray(v), n) for n, v in constants.items()],
    )
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    return made.SerializeToString()


def samples(count, seed):
    rng = np.random.default_rng(seed)
    keep = [np.arange(8) < rng.integers(4, 8) for _ in range(count)]
    return [
        {
            "x": rng.normal(size=(1, 8, 16)).astype(np.float32),
            "keep": k.astype(np.float32).reshape(1, 1, 8),
        }
        for k in keep
    ]


@pytest.fixture
def checked(tmp_path):
    def made(heads=1):
        model = tmp_path / "m.onnx"
        model.write_bytes(attention(heads))
        edge = tmp_path / "m.edge"
        pipeline.quantize(model, samples(24, 1), edge, observer="minmax")
        return pipeline.check(edge, model, samples(24, 2), layers=True)

    return made


def test_masked_scores_are_neither_worst_nor_a_cause(checked):
    report = checked()
    by_name = {layer.name: (layer, cost) for layer, cost in report.ranked()}
    layer, cost = by_name["sum0"]
    assert min(layer.sqnr_db, cost.sqnr_db, cost.local_db) > 25
    assert cost.saturation < 0.01 and "clip" not in (cost.cause or "")
    mask = next(c for n, (_, c) in by_name.items() if n in ("mask", "drop") and c)
    assert mask.sqnr_db > 60 and mask.cause is None


def test_layers_are_ranked_by_what_they_cost_the_outputs(checked):
    report = checked()
    shares = [None if c is None else c.share for _, c in report.ranked()]
    known = [s for s in shares if s is not None]
    assert known == sorted(known, reverse=True) and shares[: len(known)] == known
    assert [n["name"] for n in report.to_json()["layers"]] == [n.name for n, _ in report.ranked()]


def test_masked_scores_do_not_take_the_runs_of_what_costs(checked, monkeypatch):
    """Of a large model only the likeliest layers run alone."""
    monkeypatch.setattr(explain_module.__globals__["_Explainer"], "_work", 1e12)
    report = checked(heads=6)
    alone = [c.name for _, c in report.ranked() if c is not None and c.output_db is not None]
    assert len(alone) == 4 and not [n for n in alone if n.startswith(("sum", "mask"))]

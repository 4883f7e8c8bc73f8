"""Loops whose steps change only samples of a mask, as Keras has them behind a mask: read as a
layer."""

from __future__ import annotations

import numpy as np
import onnxruntime
import pytest
from onnx import TensorProto, helper

from edgekit.toolkit.build import build_file
from edgekit.toolkit.model_files import load
from edgekit.toolkit.runtime import Session

from .test_layers_of_loops import COMMON, LAYERS, WEIGHTS, B, H, N, T, const, splits, states

FLOAT, BOOL, INT64 = TensorProto.FLOAT, TensorProto.BOOL, TensorProto.INT64
node, info = helper.make_node, helper.make_tensor_value_info


def by_where(new, old, result):
    return [node("Where", ["m", new, old], [result])]


def by_products(new, old, result):
    """As tf2onnx writes a Where."""
    return [
        node("Not", ["m"], [f"{result}.not"]),
        node("Cast", [f"{result}.not"], [f"{result}.off"], to=FLOAT),
        node("Cast", ["m"], [f"{result}.on"], to=FLOAT),
        node("Mul", [f"{result}.on", new], [f"{result}.new"]),
        node("Mul", [old, f"{result}.off"], [f"{result}.old"]),
        node("Add", [f"{result}.new", f"{result}.old"], [result]),
    ]


def masked(kind, chosen, shown, gated=True):
    """A Loop over X and M; what it collects is a state, the last output, or that and 0."""
    gates, nodes = LAYERS[kind]
    names = states(nodes)
    read = [node("Gather", [k, "at"], [v], axis=0) for k, v in (("X", "x"), ("M", "m"))]
    keep = [n for s in names for n in chosen(f"{s}1", s, f"{s}2")] if gated else []
    before = {"state": None, "output": "p", "zeros": "none"}[shown]
    row = keep if before is None else chosen("h1", before, "p2")
    echo = ["p"] if shown == "output" else []
    ends = [f"{n}2" if gated else f"{n}1" for n in names]
    collected = ends[0] if before is None else "p2"
    step = helper.make_graph(
        [*read, *nodes, *keep, *(row if before else []), node("Identity", ["on"], ["on1"]),
         node("Identity", [collected], ["row"])],
        "step",
        [info("at", INT64, []), info("on", BOOL, []),
         *(info(n, FLOAT, [B, H]) for n in [*echo, *names])],
        [info("on1", BOOL, []), *(info(n, FLOAT, [B, H]) for n in [*(["p2"] * len(echo)), *ends]),
         info("row", FLOAT, [B, H])],
    )  # fmt: skip
    given = [*(["none"] if echo else []), *(f"{n}0" for n in names)]
    outputs = [f"{n}_last" for n in [*echo, *names]]
    loop = node("Loop", ["trips", "", *given], [*outputs, "Y"], body=step)
    splits(loop)
    inputs = [info("X", FLOAT, [T, B, N]), info("M", BOOL, [T, B, 1]),
              *(info(f"{n}0", FLOAT, [B, H]) for n in names)]  # fmt: skip
    results = [info("Y", FLOAT, [T, B, H]), *(info(n, FLOAT, [B, H]) for n in outputs)]
    none = const("none", value=np.zeros((B, H)))
    constants = [*WEIGHTS[gates], *COMMON, const("trips", value=T), none]
    return helper.make_graph([loop], "g", inputs, results, constants)


MASKS = {
    "all": [1, 1, 1, 1, 1], "none": [0, 0, 0, 0, 0], "left": [0, 0, 1, 1, 1],
    "right": [1, 1, 0, 0, 0], "holes": [0, 1, 0, 1, 1],
}  # fmt: skip


def agree(graph):
    """With onnxruntime, for each two masks; the operators."""
    opsets = [helper.make_opsetid("", 18)]
    content = helper.make_model(graph, opset_imports=opsets, ir_version=9).SerializeToString()
    ours, rng = load(content), np.random.default_rng(1)
    session, runtime = Session(build_file(ours)), onnxruntime.InferenceSession(content)
    shapes = {v.name: [d.dim_value for d in v.type.tensor_type.shape.dim] for v in graph.input}
    feed = {k: rng.normal(size=v).astype(np.float32) for k, v in shapes.items()}
    for one in MASKS.values():
        for other in MASKS.values():
            feed["M"] = np.array([one, other], bool).T[:, :, None]
            wanted, found = runtime.run(None, feed), session.run(feed)
            for (name, array), want in zip(found.items(), wanted, strict=True):
                np.testing.assert_allclose(array, want, 1e-5, 1e-6, err_msg=name)
    return [n.op for n in ours.nodes]


@pytest.mark.parametrize("shown", ["state", "output", "zeros"])
@pytest.mark.parametrize("chosen", [by_where, by_products])
@pytest.mark.parametrize("kind", ["rnn", "lstm", "gru before", "gru after", "gru moves"])
def test_a_masked_layer_is_read_as_one(kind, chosen, shown):
    ops = agree(masked(kind, chosen, shown))
    assert ops.count("Recurrent") == 1 and "Loop" not in ops


@pytest.mark.parametrize("shown", ["output", "zeros"])
def test_a_mask_of_the_outputs_alone_is_none_of_a_layer(shown):
    ops = agree(masked("lstm", by_where, shown, gated=False))
    assert "Recurrent" not in ops

"""`check` judges a file as `quantize` does."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import softmax

from edgekit.toolkit.accuracy import OwnRuntime, QualityMeter, compare
from edgekit.toolkit.build import build_file
from edgekit.toolkit.format.strip import strip
from edgekit.toolkit.ir import Graph, Node, Port, TensorType, Value, constant
from edgekit.toolkit.quantize import quantize_graph
from edgekit.toolkit.runtime import Session

FLOAT = np.dtype(np.float32)
RNG = np.random.default_rng(4)
WEIGHT = RNG.normal(size=(4, 6)).astype(np.float32)
LIMITS = {"act_min": -np.inf, "act_max": np.inf}
SAMPLES = [{"x": RNG.uniform(-2, 2, size=(1, 6)).astype(np.float32)} for _ in range(40)]


def classifier():
    x, y, z = (Value(n, TensorType(FLOAT, (1, d))) for n, d in (("x", 6), ("y", 4), ("z", 4)))
    nodes = [
        Node("FullyConnected", [x, constant(WEIGHT, "w"), None], [y], LIMITS, "y"),
        Node("Softmax", [y], [z], {"axis": 1}, "z"),
    ]
    return Graph(nodes, [Port("x", x, 1, x.shape)], [Port("probabilities", z, 1, z.shape)])


@pytest.fixture
def file():
    ranges = {"x": (-2.0, 2.0), "y": (-40.0, 40.0), "z": (0.0, 1.0)}
    return build_file(quantize_graph(classifier(), ranges)[0])


def quality(edge, graph=None, session=None):
    graph = graph or classifier()
    meter = QualityMeter(graph, session)
    return compare(edge, OwnRuntime(graph), SAMPLES, quality=meter).quality


def test_a_softmax_is_judged_by_what_it_reads(file):
    edge = Session(file)
    found = quality(edge, session=edge)
    logits = np.concatenate([s["x"] @ WEIGHT.T for s in SAMPLES])
    truth, got = logits.argmax(1), []
    for s in SAMPLES:
        edge.run_layers(s, lambda _, name, x: got.append(x.copy()) if name == "y" else None)
    steps = np.concatenate(got)
    changed = steps.argmax(1) != truth
    assert set(found.sqnr_db) == {"y"} and found.samples == 40
    assert found.answers.changed == pytest.approx(changed.mean())
    likely = softmax(logits, axis=1)
    at = np.arange(len(truth))
    lost = likely[at, truth] - likely[at, steps.argmax(1)]
    assert found.answers.expected == pytest.approx(lost.mean(), abs=1e-6)


@pytest.mark.parametrize("lead", [1.0, 8.0])
def test_the_lower_sqnr_of_a_softmax_names_its_temperature(lead):
    graph = classifier()
    graph.nodes[0].inputs[1] = constant(lead * WEIGHT, "w")
    ranges = {"x": (-2.0, 2.0), "y": (-12 * lead, 12 * lead), "z": (0.0, 1.0)}
    edge = Session(build_file(quantize_graph(graph, ranges)[0]))
    found = quality(edge, graph, edge)
    logits, got = np.concatenate([s["x"] @ (lead * WEIGHT).T for s in SAMPLES]), []
    scale = next(o.scale for o in edge.op_outputs if o.name == "y")
    zero = next(o.zero_point for o in edge.op_outputs if o.name == "y")
    for s in SAMPLES:
        edge.run_layers(s, lambda _, n, x: got.append(x.copy()) if n == "y" else None)
    steps = scale * (np.concatenate(got).astype(np.float64) - zero)
    best = np.sort(logits, axis=1)
    softer = max(1.0, float(np.median(best[:, -1] - best[:, -2])) / 2)
    db = {}
    for t in (1.0, softer):
        truth = softmax(logits / t, axis=1)
        error = softmax(steps / t, axis=1) - truth
        db[t] = 10 * np.log10((truth**2).sum() / (error**2).sum())
    lower = min(db, key=db.get)
    assert found.sqnr_db["y"] == pytest.approx(db[lower], abs=0.05)
    assert found.temperature == ({} if lower == 1 else {"y": round(lower, 2)})
    assert ("temperature" in found.in_words()) == (lower != 1)


def test_a_file_without_names_is_judged_by_its_outputs(file):
    named, bare = Session(file), Session(strip(file))
    a, b = quality(named, session=named), quality(bare, session=bare)
    assert a.level == b.level
    assert b.answers.changed == pytest.approx(a.answers.changed, abs=0.06)
    assert abs(a.worst[1] - b.worst[1]) < 6


def test_a_softmax_that_no_output_shows_in_its_order_is_judged_as_it_comes_out():
    """Probabilities [1, 4] leave as [4, 1], from a file without names."""
    graph = classifier()
    z = graph.outputs[0].value
    turned = Value("turned", TensorType(FLOAT, (4, 1)))
    graph.nodes.append(Node("Transpose", [z], [turned], {"perm": (1, 0)}, "turned"))
    graph.outputs = [Port("turned", turned, 1, turned.shape)]
    ranges = {"x": (-2.0, 2.0), "y": (-40.0, 40.0), "z": (0.0, 1.0), "turned": (0.0, 1.0)}
    bare = Session(strip(build_file(quantize_graph(graph, ranges)[0])))
    found = quality(bare, graph, bare)
    rows = np.stack([bare.run(s)["turned"].ravel() for s in SAMPLES])
    truth = np.stack([softmax((s["x"] @ WEIGHT.T).ravel()) for s in SAMPLES])
    around = np.square(truth - truth.mean(axis=0)).sum() / np.square(rows - truth).sum()
    assert found.sqnr_db == {"turned": pytest.approx(10 * np.log10(around), abs=0.05)}


def test_few_numbers_are_judged_by_how_they_vary():
    """2000 and a little: an error of a tenth of the little is one of the output."""
    graph = classifier()
    y = graph.nodes[0].output
    far = Value("far", y.type)
    add = Node("Add", [y, constant(np.full((1, 4), 2000, np.float32), "c")], [far], LIMITS, "far")
    graph = Graph([graph.nodes[0], add], graph.inputs, [Port("far", far, 1, far.shape)])
    ranges = {"x": (-2.0, 2.0), "y": (-12.0, 12.0), "far": (1980.0, 2020.0)}
    edge = Session(build_file(quantize_graph(graph, ranges)[0]))
    report = compare(edge, OwnRuntime(graph), SAMPLES, quality=QualityMeter(graph, edge))
    rows = np.stack([edge.run(s)["far"].ravel() for s in SAMPLES])
    truth = np.stack([(s["x"] @ WEIGHT.T).ravel() + 2000 for s in SAMPLES])
    around = np.square(truth - truth.mean(axis=0)).sum() / np.square(rows - truth).sum()
    assert report.outputs[0].sqnr_db > 45
    assert report.quality.worst[1] == pytest.approx(10 * np.log10(around), abs=0.05)
    assert report.level != "good"

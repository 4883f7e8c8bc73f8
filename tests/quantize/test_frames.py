"""Files of trials hold what the file that is planned for the same graph holds."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from edgekit.toolkit.build import build_model, forget_lasting, open_once
from edgekit.toolkit.format.reader import read
from edgekit.toolkit.format.writer import write
from edgekit.toolkit.ir import Graph, Port
from edgekit.toolkit.lowering import frames
from edgekit.toolkit.lowering.frames import MOST, trial_file
from edgekit.toolkit.quantize.scheme.options import Options
from edgekit.toolkit.quantize.scheme.plan import Plan


@pytest.fixture
def plan(g):
    a = g.conv(g.input("x", 1, 6, 6, 3), 8, act_min=0.0, name="a")
    b = g.conv(a, 8, groups=8, act_min=0.0, name="b")
    table = g.emit("HardSwish", b, name="table")
    both = g.emit("Add", table, a, name="sum")
    flat = g.emit("Reshape", both, shape=(1, 288), name="flat")
    real = g.emit("Reshape", flat, shape=(1, 6, 6, 8), name="back")
    net = g.output(g.conv(g.conv(real, 4, kernel=1, name="real"), 4, kernel=1, name="y"))
    ranges = {v.name: (-4.0, 4.0) for v in net.values() if v.const is None}
    return Plan(net, ranges, Options(precision={"real": "float32"}))


RANGES = [(-2.5, 3.5), (-4.0, 0.1), (-0.125, 9.0), (0.0, 1e-3), (-4.0, 4.0)]
"""Their zero points take one byte or two in a file."""


def trials(plan):
    names = ["x", "a", "b", "table", "sum", "real", "y"]
    for i, r in enumerate(RANGES):
        changed = names[i:] if i % 2 else names[i : i + 1]
        yield plan.emit({**plan.wide, **dict.fromkeys(changed, r)}, trial=True)[0]


def planned(graph, made):
    """The model of a file, planned alone; counted in `made`."""
    made.append(graph)
    return build_model(graph, compact=False, lasting=True)


def held(data):
    """What a file holds, without where that lies."""
    model = read(data, checked=False)
    return replace(model, memory=replace(model.memory, macs=0))


def test_a_trial_holds_what_is_planned_for_its_graph(plan):
    forget_lasting()
    made = []
    for graph in trials(plan):
        found = trial_file(graph, partial(planned, graph, made))
        wanted = write(build_model(graph, compact=False, lasting=True), False)
        assert held(found) == held(wanted)
    assert len(made) == 1


def test_parts_of_a_graph_have_frames_of_their_own(plan):
    forget_lasting()
    made = []
    for graph in trials(plan):
        for first in range(len(graph.nodes)):
            nodes = graph.nodes[first:]
            inside = {v for n in nodes for v in n.outputs}
            read_ = dict.fromkeys(v for n in nodes for v in n.dynamic_inputs if v not in inside)
            part = Graph(nodes, [Port(v.name, v, 1, v.shape) for v in read_], graph.outputs)
            found = trial_file(part, partial(planned, part, made))
            assert held(found) == held(write(build_model(part, compact=False, lasting=True), False))
    assert len(made) == len(graph.nodes)


def test_other_precisions_and_ports_are_other_structures(plan):
    forget_lasting()
    made, graph = [], next(trials(plan))
    wide = plan.mixed(replace(plan.options, wide=frozenset({"y"})))
    other, _ = wide.emit(plan.wide, trial=True)
    inner = next(n.output for n in graph.nodes if n.output.name == "sum")
    shown = replace(graph, outputs=[*graph.outputs, Port("sum", inner, 1, inner.shape)])
    for each in (graph, other, shown):
        found = trial_file(each, partial(planned, each, made))
        assert held(found) == held(write(build_model(each, compact=False, lasting=True), False))
    assert made == [graph, other, shown]


def test_trials_run_as_their_graphs_do(plan):
    forget_lasting()
    x = {"x": np.random.default_rng(0).normal(size=(1, 6, 6, 3)).astype(np.float32)}
    outputs = []
    for graph in trials(plan):
        outputs.append(open_once(graph, lasting=True).run(x)["y"])
        assert np.array_equal(outputs[-1], open_once(graph).run(x)["y"])
    assert len({y.tobytes() for y in outputs}) == len(outputs)


def test_the_latest_frames_are_kept(plan):
    forget_lasting()
    made, graph = [], next(trials(plan))
    for i in range(2 * MOST):
        port = replace(graph.outputs[0], name=f"y{i}")
        named = replace(graph, outputs=[port])
        trial_file(named, partial(planned, named, made))
        trial_file(graph, partial(planned, graph, made))
    assert len(made) == 2 * MOST + 1 and len(frames._frames) == MOST
    forget_lasting()
    assert not frames._frames

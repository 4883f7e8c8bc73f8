"""Graphs of trials share the nodes that stay the same, and are those that are emitted alone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from edgekit.toolkit.build import build_file, build_model, forget_lasting, open_once
from edgekit.toolkit.format.writer import write
from edgekit.toolkit.ir import Graph, Port
from edgekit.toolkit.lowering import nodes
from edgekit.toolkit.quantize.scheme.options import Options
from edgekit.toolkit.quantize.scheme.plan import Plan
from edgekit.toolkit.quantize.scheme.reuse import MOST, Nothing, Reuse


@pytest.fixture
def plan(g):
    a = g.conv(g.input("x", 1, 6, 6, 3), 8, act_min=0.0, name="a")
    b = g.conv(a, 8, groups=8, act_min=0.0, name="b")
    table = g.emit("HardSwish", b, name="table")
    real = g.conv(g.emit("Add", table, a, name="sum"), 4, kernel=1, name="real")
    net = g.output(g.conv(real, 4, kernel=1, name="y"))
    ranges = {v.name: (-4.0, 4.0) for v in net.values() if v.const is None}
    return Plan(net, ranges, Options(precision={"real": "float32"}))


def varied(plan, *changed):
    return {name: (-2.5, 3.5) if name in changed else r for name, r in plan.wide.items()}


@pytest.mark.parametrize("changed", [(), ("x",), ("a",), ("b", "table"), ("sum",), ("real", "y")])
def test_a_trial_is_the_graph_that_is_emitted_alone(plan, changed):
    for ranges in (varied(plan), varied(plan, *changed), varied(plan)):
        (trial, said), (alone, wanted) = plan.emit(ranges, trial=True), plan.emit(ranges)
        assert build_file(trial) == build_file(alone) and said == wanted
        once = [write(build_model(g, compact=False, lasting=True)) for g in (trial, alone)]
        assert once[0] == once[1]


def test_what_does_not_change_is_made_once(plan):
    first, _ = plan.emit(varied(plan), trial=True)
    other, _ = plan.emit(varied(plan, "y"), trial=True)
    assert [n in first.nodes for n in other.nodes] == [True] * (len(other.nodes) - 1) + [False]
    alone, _ = plan.emit(varied(plan))
    assert not set(alone.nodes) & set(first.nodes)


def test_other_weights_are_other_nodes(plan):
    first, _ = plan.emit(varied(plan), trial=True)
    node = next(n for n in plan.linear if n.output.name == "b")
    found = plan.linear[node].rounded(np.zeros(8))
    changed = plan.with_rounded({("b", 8): type(found)(found.grid, found.z - 1, found.bias)})
    other, _ = changed.emit(varied(plan), trial=True)
    new = [n.output.name for n in other.nodes if n not in first.nodes]
    assert new == ["b"]
    assert build_file(other) == build_file(changed.emit(varied(plan))[0])


def test_roundings_in_turn_share_what_was_made_of_each(plan):
    node = next(n for n in plan.linear if n.output.name == "b")
    found = plan.linear[node].rounded(np.zeros(8))
    each = [type(found)(found.grid, found.z - i, found.bias) for i in (1, 2)]
    first, *again = (
        [plan.with_rounded({("b", 8): w}).emit(varied(plan), trial=True)[0] for w in each]
        for _ in range(2)
    )
    assert [g.nodes for g in again[0]] == [g.nodes for g in first]


def test_plans_of_other_precisions_share_what_stays(plan):
    first, _ = plan.emit(varied(plan), trial=True)
    wide = plan.mixed(replace(plan.options, wide=frozenset({"y"})))
    other, _ = wide.emit(varied(plan), trial=True)
    assert build_file(other) == build_file(wide.emit(varied(plan))[0])
    assert {"a", "b", "table"} <= {n.output.name for n in first.nodes if n in other.nodes}


def test_a_node_lowered_once_is_the_same_elsewhere_in_a_file(plan):
    graph, _ = plan.emit(varied(plan), trial=True)
    parts = []
    for first in range(len(graph.nodes)):
        nodes = graph.nodes[first:]
        made = {v for n in nodes for v in n.outputs}
        read = dict.fromkeys(v for n in nodes for v in n.dynamic_inputs if v not in made)
        ports = [Port(v.name, v, 1, v.shape) for v in read]
        parts.append(Graph(nodes, ports, graph.outputs))
    once = [write(build_model(part, compact=False, lasting=True)) for part in (graph, *parts)]
    for part, known in zip((graph, *parts), once, strict=True):
        forget_lasting()
        assert write(build_model(part, compact=False, lasting=True)) == known


def test_nodes_are_lowered_anew_once_they_are_forgotten(plan, monkeypatch):
    graph, _ = plan.emit(varied(plan), trial=True)
    files, lowered = [], []
    lower = nodes._lowered
    monkeypatch.setattr(nodes, "_lowered", lambda *a: lowered.append(a) or lower(*a))
    for _ in range(2):
        files += [write(build_model(graph, compact=False, lasting=True)) for _ in range(2)]
        forget_lasting()
    assert len(set(files)) == 1 and len(lowered) == 2 * len(graph.nodes)


def test_sessions_of_graphs_that_share_nodes_run_their_own(plan):
    x = {"x": np.random.default_rng(0).normal(size=(1, 6, 6, 3)).astype(np.float32)}
    graphs = [plan.emit(varied(plan, *c), trial=True)[0] for c in ((), ("a",), ("b",))]
    made = [open_once(g, lasting=True).run(x)["y"] for g in [*graphs, graphs[0]]]
    assert np.array_equal(made[0], made[3]) and not np.array_equal(made[0], made[1])
    assert all(
        np.array_equal(open_once(g).run(x)["y"], y) for g, y in zip(graphs, made[:3], strict=True)
    )


def test_a_node_changed_since_it_was_proved_is_lowered_as_it_is_now(plan):
    graph, _ = plan.emit(varied(plan))  # which proves its nodes
    node = next(n for n in graph.nodes if n.output.name == "b")
    node.attrs["act_max"] = 1.0
    bias = node.input(2)
    bias.const = bias.const + 5
    copied = [replace(n) for n in graph.nodes]  # which nobody proved
    assert build_file(graph) == build_file(replace(graph, nodes=copied))


def test_the_latest_few_of_an_owner_are_kept():
    reuse, made = Reuse(), []

    def make():
        made.append(len(made))
        return made[-1]

    assert [reuse("one", key, make) for key in (1, 2, 1, 3)] == [0, 1, 0, 2]
    assert [reuse("one", key, make) for key in range(10, 10 + MOST)] == [3, 4, 5]
    assert reuse("one", 1, make) == 6 and reuse("other", 1, make) == 7
    assert [Nothing()("one", 1, make) for _ in range(2)] == [8, 9]

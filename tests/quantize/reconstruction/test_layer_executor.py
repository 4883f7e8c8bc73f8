"""Tensors that nodes read, found from those before them, are those of the whole graph."""

from __future__ import annotations

import numpy as np
import pytest

from edgekit.calibration import filed_arrays
from edgekit.toolkit.build import build_file
from edgekit.toolkit.ir import Graph, Port
from edgekit.toolkit.quantize import Options, quantize_graph
from edgekit.toolkit.quantize.reconstruction import layer_executor
from edgekit.toolkit.quantize.reconstruction.layer_executor import LayerExecutor
from edgekit.toolkit.runtime import Session

FLOAT = 1


@pytest.fixture
def net(g):
    """Convolutions with what else reads their inputs: a sum far behind, an index, both inputs."""
    x, scale = g.input("x", 1, 6, 6, 3), g.input("scale", 1, 6, 6, 4)
    a = g.conv(x, 4, name="a", act_min=0.0)
    b = g.conv(a, 4, name="b")
    c = g.conv(g.emit("Add", b, scale, name="moved"), 4, name="c")
    d = g.conv(g.emit("Concat", a, c, axis=3, name="both"), 4, name="d")
    where = g.emit("ArgMax", a, axis=3, keepdims=1, select_last_index=0, name="where")
    e = g.conv(g.emit("Add", d, b, name="sum"), 4, name="e")
    picked = g.emit("Cast", where, to="float32", name="picked")
    return g.output(g.conv(g.emit("Add", e, picked, name="late"), 2, name="end"))


@pytest.fixture
def samples():
    rng = np.random.default_rng(1)
    shapes = {"x": (1, 6, 6, 3), "scale": (1, 6, 6, 4)}
    return [{n: rng.normal(size=s).astype(np.float32) for n, s in shapes.items()} for _ in range(3)]


def quantized(net, *int16):
    ranges = {v.name: (-4.0, 4.0) for v in net.values() if v.const is None}
    return quantize_graph(net, ranges, Options(wide=frozenset(int16)))[0]


def convs(graph):
    return [n for n in graph.nodes if n.op == "Conv2d"]


def seen(run, graph, node):
    """The real input and output of `node` on each sample."""
    wanted = [node.input(0), node.output]
    return [np.concatenate([real(v, x[i]).ravel() for v, x in zip(wanted, held, strict=True)])
            for held in run.run_to(graph, node, wanted) for i in range(len(held[0]))]  # fmt: skip


def real(v, held):
    return held if v.quant is None else v.quant.dequantize(held)


def alone(graph, node, sample):
    """As `seen`, by a session of the whole graph."""
    x, y = node.input(0), node.output
    ports = [Port(v.name, v, FLOAT, v.shape) for v in (x, y) if graph.inputs[0].value is not v]
    made = Session(build_file(Graph(graph.nodes, graph.inputs, ports))).run(sample)
    if x.name not in made:
        made[x.name] = (
            sample["x"] if x.quant is None else x.quant.dequantize(x.quant.quantize(sample["x"]))
        )
    return np.concatenate([made[v.name].ravel() for v in (x, y)])


@pytest.fixture
def ran(monkeypatch):
    """The nodes of each session that is opened."""
    opened, ordinary = [], layer_executor.open_once

    def noted(graph, **options):
        opened.append([n.output.name for n in graph.nodes])
        return ordinary(graph, **options)

    monkeypatch.setattr(layer_executor, "open_once", noted)
    return opened


@pytest.mark.parametrize("form", ["float", "int8", "int16"])
@pytest.mark.parametrize("held", [layer_executor.HELD, 3000, 0])
@pytest.mark.parametrize("filed", [filed_arrays.LEAST_ROWS_BYTES, 1])
def test_values_are_those_of_the_whole_graph(net, samples, monkeypatch, form, held, filed):
    monkeypatch.setattr(layer_executor, "HELD", held)
    monkeypatch.setattr(layer_executor, "WORK_PER_BYTE", 9e9)
    monkeypatch.setattr(filed_arrays, "LEAST_ROWS_BYTES", filed)
    graph = net if form == "float" else quantized(net, *(["b", "sum"] if form == "int16" else []))
    run = LayerExecutor(samples)
    for node in convs(graph):
        found = seen(run, graph, node)
        assert np.array_equal(found, [alone(graph, node, sample) for sample in samples])
        assert len({v.tobytes() for v in found}) == len(samples)


@pytest.mark.parametrize("form", ["float", "int8"])
def test_large_samples_run_on_all_cores(net, samples, monkeypatch, three_cores, form):
    monkeypatch.setattr(layer_executor, "TOGETHER", 0)
    graph, samples = net if form == "float" else quantized(net), [*samples, *samples[:2]]
    used, on_cores = [], layer_executor.on_cores
    monkeypatch.setattr(
        layer_executor, "on_cores", lambda work, of: used.append(len(of)) or on_cores(work, of)
    )
    run = LayerExecutor(samples)
    for node in convs(graph):
        expected = [alone(graph, node, sample) for sample in samples]
        assert np.array_equal(seen(run, graph, node), expected)
    assert set(used) == {1, 3}


def test_each_node_runs_about_once(net, samples, ran):
    run = LayerExecutor(samples)
    for node in convs(net):
        list(run.run_to(net, node, [node.input(0)]))
    once = [name for names in ran for name in names]
    assert len(once) == len(set(once)) and {"a", "where", "late"} <= set(once)


@pytest.mark.parametrize(
    ("limits", "holds"), [((9e9, 0), False), ((0, 0), False), ((16, 1 << 20), True)]
)
def test_what_takes_much_room_is_held_if_it_takes_more_work(
    net, samples, ran, monkeypatch, limits, holds
):
    monkeypatch.setattr(layer_executor, "HELD", 0)
    monkeypatch.setattr(layer_executor, "WORK_PER_BYTE", limits[0])
    monkeypatch.setattr(layer_executor, "MOST_HELD", limits[1])
    run = LayerExecutor(samples)
    for node in convs(net):
        list(run.run_to(net, node, [node.input(0)]))
    assert [names[0] == "a" for names in ran].count(True) == (1 if holds else len(ran))


def test_what_is_of_another_type_before_is_run_again(net, samples):
    run, other = LayerExecutor(samples), quantized(net, "b")
    first = quantized(net)
    seen(run, first, convs(first)[3])
    again, node = seen(run, other, convs(other)[4]), convs(other)[4]
    assert np.array_equal(again, seen(LayerExecutor(samples), other, node))


def test_a_node_that_reads_the_input(g):
    x = g.input("x", 1, 2, 2, 3)
    graph = g.output(g.conv(x, 2, name="y"))
    sample = {"x": np.ones((1, 2, 2, 3), np.float32)}
    (node,) = graph.nodes
    ((values,),) = LayerExecutor([sample]).run_to(graph, node, [x])
    assert np.array_equal(values, [sample["x"]])


def test_what_is_held_runs_on_to_the_end_of_several_graphs(net, samples, ran):
    run, whole = LayerExecutor(samples), Session(build_file(net))
    wanted = [whole.run(sample)[net.outputs[0].name] for sample in samples]
    for node in convs(net)[1:]:
        assert not any(run.run_to(net, node, []))
        ran.clear()
        for _ in range(2):
            found = run.run_on(net, [net.outputs[0].value])
            assert np.array_equal([made for (made,) in found], wanted)
        before = {n.output.name for n in net.nodes[: net.nodes.index(node)]}
        assert len(ran) == 2 and before.isdisjoint(ran[0])

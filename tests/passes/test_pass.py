"""Passes are run until quiet, verified, and outputs keep their names."""

import pytest

from edgekit.toolkit.passes import DEFAULT, UntilQuiet, run_passes
from edgekit.toolkit.verify import IllegalGraph


class Breaks:
    name = "breaking"

    def run(self, graph):
        graph.nodes.reverse()
        return True


class Restless:
    name = "restless"

    def run(self, graph):
        return True


def test_a_pass_that_breaks_the_graph_is_named(net):
    net.output(net.emit("Abs", [net.emit("Neg", [net.input(2)])]))
    with pytest.raises(IllegalGraph, match="pass 'breaking'"):
        run_passes(net.graph, [Breaks()])


def test_passes_that_undo_each_other_are_stopped(net):
    net.output(net.emit("Abs", [net.input(2)]))
    with pytest.raises(AssertionError, match="'all' is not quiet"):
        UntilQuiet("all", [Restless()]).run(net.graph)


def test_users_get_what_passes_that_undo_each_other_leave(net, monkeypatch):
    monkeypatch.setattr(UntilQuiet, "strict", False)
    net.output(net.emit("Abs", [net.input(2)]))
    assert UntilQuiet("all", [Restless()]).run(net.graph)
    assert net.ops() == ["Abs"]


def test_outputs_keep_names_order_and_layout(net):
    image = net.input(1, 3, 6, 6)
    first = net.emit("Clip", [net.nchw(net.conv(net.nhwc(image), 4))], name="first", min=0, max=6)
    second = net.emit("Reshape", [net.nhwc(first)], name="second", shape=(1, 144))
    graph = net.output(first, second)
    want = net.run()
    run_passes(graph, DEFAULT)
    assert [(p.name, p.shape) for p in graph.outputs] == [
        ("first", (1, 4, 6, 6)), ("second", (1, 144)),
    ]  # fmt: skip
    assert [p.value.name for p in graph.outputs] == ["first", "second"]
    got = net.run()
    assert all((got[k] == want[k]).all() for k in want)


def test_a_second_run_changes_nothing(net):
    x = net.nhwc(net.input(1, 3, 6, 6))
    net.output(net.relu(net.nchw(net.conv(x, 4, 3))))
    run_passes(net.graph, DEFAULT)
    text = str(net.graph)
    assert not run_passes(net.graph, DEFAULT) and str(net.graph) == text

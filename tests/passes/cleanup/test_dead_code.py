"""Dead code goes, inputs stay."""

from edgekit.toolkit.passes.cleanup.dead_code import DeadCode


def test_nodes_that_no_output_needs_are_dropped(net):
    x, unused = net.input(1, 4), net.input(1, 4)
    y = net.emit("Abs", [x])
    net.emit("Neg", [net.emit("Exp", [x])])
    graph = net.output(y)
    assert DeadCode().run(graph) and net.ops() == ["Abs"]
    assert [p.value for p in graph.inputs] == [x, unused]
    assert not DeadCode().run(graph)


def test_what_any_output_needs_stays(net):
    x = net.input(1, 4)
    net.output(net.emit("Abs", [x]), net.emit("Exp", [x]), net.emit("Neg", [x]))
    assert net.after() == ["Abs", "Exp", "Neg"]

"""An operator that broadcasts needs no Expand."""

from edgekit.toolkit.passes.drop_expand import DropExpand


def test_a_broadcasting_operator_reads_the_small_tensor(net):
    big, small = net.input(2, 3, 4), net.input(3, 1)
    net.output(net.emit("Mul", [big, net.emit("Expand", [small], shape=(2, 3, 4))]))
    assert net.after(DropExpand()) == ["Mul"]


def test_an_expand_that_gives_the_shape_stays(net):
    small = net.input(3, 1)
    net.output(net.emit("Add", [net.emit("Expand", [small], shape=(3, 4)), net.random(3, 1)]))
    assert net.after(DropExpand()) == ["Expand", "Add"]

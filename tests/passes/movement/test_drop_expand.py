"""An operator that broadcasts needs no Expand."""

from edgekit.toolkit.passes.movement.drop_expand import DropExpand


def test_a_broadcasting_operator_reads_the_small_tensor(net):
    big, small = net.input(2, 3, 4), net.input(3, 1)
    net.output(net.emit("Mul", [big, net.emit("Expand", [small], shape=(2, 3, 4))]))
    assert net.after(DropExpand()) == ["Mul"]


def test_an_expand_that_gives_the_shape_stays(net):
    small = net.input(3, 1)
    net.output(net.emit("Add", [net.emit("Expand", [small], shape=(3, 4)), net.random(3, 1)]))
    assert net.after(DropExpand()) == ["Expand", "Add"]


def test_more_axes_than_the_runtime_steps_along_stay(net):
    small, other = net.input(2, 1, 2, 1, 2), net.input(1, 3, 1, 2, 1, name="z")
    shape = (2, 3, 2, 2, 2)
    inputs = [net.emit("Expand", [v], shape=shape) for v in (small, other)]
    net.output(net.emit("Add", inputs))
    assert net.after(DropExpand()) == ["Expand", "Expand", "Add"]

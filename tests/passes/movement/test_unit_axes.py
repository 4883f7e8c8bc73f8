"""Axes of size 1 move for free."""

from edgekit.toolkit.passes.movement.unit_axes import UnitReshapes, UnitTransposes, moves_only_units


def test_moving_units_is_told_from_moving_data():
    assert moves_only_units((1, 5, 5, 1), (0, 3, 1, 2))
    assert moves_only_units((1, 1, 1, 8), (0, 3, 1, 2))
    assert not moves_only_units((1, 5, 5, 2), (0, 3, 1, 2))
    assert not moves_only_units((5, 5), (1, 0))


def test_a_transpose_of_units_becomes_a_reshape(net):
    net.output(net.emit("Abs", [net.nchw(net.input(1, 5, 6, 1))]))
    assert net.after(UnitTransposes()) == ["Reshape", "Abs"]


def test_a_transpose_of_data_stays(net):
    net.output(net.nchw(net.input(1, 5, 6, 2)))
    assert net.after(UnitTransposes()) == ["Transpose"]


def test_a_reshape_that_moves_units_becomes_a_transpose(net):
    net.output(net.emit("Abs", [net.reshape(net.input(1, 1, 1, 8), (1, 8, 1, 1))]))
    assert net.after(UnitReshapes()) == ["Transpose", "Abs"]


def test_other_reshapes_stay(net):
    x = net.input(1, 2, 1, 8)
    net.output(net.reshape(x, (1, 8, 1, 2)), net.reshape(x, (2, 8)))
    assert net.after(UnitReshapes()) == ["Reshape", "Reshape"]

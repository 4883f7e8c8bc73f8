"""Transposes of transposes are one, or none."""

from edgekit.toolkit.passes.movement.merge_transposes import MergeTransposes


def test_inverse_pairs_cancel(net):
    x = net.input(1, 2, 3, 4)
    net.output(net.emit("Abs", [net.nchw(net.nhwc(x))]))
    assert net.after(MergeTransposes()) == ["Abs"]


def test_others_become_one(net):
    x = net.input(2, 3, 4)
    net.output(net.transpose(net.transpose(x, (1, 0, 2)), (0, 2, 1)))
    assert net.after(MergeTransposes()) == ["Transpose"]
    assert net.graph.nodes[0].attrs["perm"] == (1, 2, 0)


def test_a_first_one_with_other_readers_stays(net):
    first = net.transpose(net.input(2, 3, 4), (1, 0, 2))
    net.output(net.emit("Abs", [first]), net.emit("Abs", [net.transpose(first, (1, 0, 2))]))
    assert sorted(net.after(MergeTransposes())) == ["Abs", "Abs", "Transpose"]

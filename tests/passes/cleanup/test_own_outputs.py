"""Outputs have memory of their own."""

import numpy as np

from edgekit.toolkit.passes import DEFAULT, run_passes
from edgekit.toolkit.passes.cleanup.own_outputs import OwnOutputs


def test_an_input_seen_in_another_shape_is_copied(net):
    net.output(net.reshape(net.input(2, 6), (3, 4)))
    assert OwnOutputs().run(net.graph) and "Copy" in net.ops()
    assert not OwnOutputs().run(net.graph)


def test_a_computed_value_is_not_copied(net):
    net.output(net.reshape(net.emit("Abs", [net.input(2, 6)]), (12,)))
    assert not OwnOutputs().run(net.graph)


def test_all_passes_leave_a_copy_of_a_constant(net):
    net.output(net.emit("Transpose", [net.constant(np.ones((2, 1), np.float32))], perm=(1, 0)))
    want = net.run()
    run_passes(net.graph, DEFAULT)
    assert net.ops() == ["Copy"]
    assert {k: v.tolist() for k, v in net.run().items()} == {k: v.tolist() for k, v in want.items()}

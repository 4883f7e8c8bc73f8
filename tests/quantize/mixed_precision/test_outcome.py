"""What is said of the steps of a mix is what their nodes are."""

from __future__ import annotations

from edgekit.toolkit.numerics import PRECISIONS, W8A16
from edgekit.toolkit.quantize.mixed_precision.outcome import decision_of
from edgekit.toolkit.quantize.mixed_precision.precision_change import PrecisionChange


def test_nodes_of_one_step_are_told_by_what_each_is_made():
    change = PrecisionChange(W8A16, tuple("abcd"), tuple(("Conv2d", name) for name in "abcd"))

    def told(*precisions):
        made = dict(zip(change.nodes, (PRECISIONS[p] for p in precisions), strict=True))
        return decision_of(change, made, "why")

    assert told("int16x4", "int16", "int16x4", "int16").what == "made 16x4, with 2 in 16x8, 1 other"
    assert told("int16", "int16", "int16", "float32").what == "made 16x8, with 2 others"
    assert told("int8", "int16", "float32", "int8").what == "made 16x8"
    assert told("int8", "int4", "float32", "int8") is None

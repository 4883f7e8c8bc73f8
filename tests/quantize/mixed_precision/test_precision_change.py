"""Changes of precision make one assignment, in whichever order they are taken."""

from __future__ import annotations

from edgekit.toolkit.quantize.mixed_precision.precision_change import (
    PrecisionAssignment,
    PrecisionChange,
)


def test_steps_of_tensors_and_of_weights_do_not_undo_each_other():
    base = PrecisionAssignment(frozenset(), frozenset())
    four = PrecisionChange("int4", ("y",), (("Conv2d", "y"),))
    wide = PrecisionChange("int16", ("y",), (("Conv2d", "y"),))
    both = PrecisionAssignment(frozenset({"y"}), frozenset({("y", "int4")}))
    assert base.with_changes([four, wide]) == base.with_changes([wide, four]) == both
    back = PrecisionChange("int8", ("y",), (("Conv2d", "y"),))
    assert both.has_narrow_weights(back)
    assert base.with_changes([four, wide, back]) == base.with_changes([wide])
    narrow = PrecisionChange("int8", (), (("Conv2d", "y"),), ("y",))
    assert not both.has_narrow_weights(narrow)
    assert base.with_changes([four, wide, narrow]) == base.with_changes([four])

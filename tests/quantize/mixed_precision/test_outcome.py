"""What is said of the steps of a mix is what their nodes are."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from edgekit.toolkit.numerics import PRECISIONS, W8A16
from edgekit.toolkit.quantize.mixed_precision.outcome import _final_plan, decision_of
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


@pytest.mark.parametrize(
    ("limit", "fitted", "chosen"),
    [(9, True, "whole"), (6, True, "fold"), (4, True, "whole"), (6, False, "whole")],
)
def test_weights_of_a_fold_are_taken_where_only_their_file_is_within_the_limits(
    limit, fitted, chosen
):
    """Of files of 8 bytes with weights for all samples, and of 5 bytes with those of a fold."""
    made = {
        name: SimpleNamespace(name=name, options=SimpleNamespace(rounded=fitted))
        for name in ("fold", "whole")
    }
    known = {}
    evaluator = SimpleNamespace(
        plan=lambda _: made["fold"],
        final=lambda *_: made["whole"],
        settle=lambda at, plan: known.update({at: {"fold": 5, "whole": 8}[plan.name]}),
        size=known.get,
        drops={},
    )
    budget = SimpleNamespace(holds=lambda size: size <= limit)
    criteria = SimpleNamespace(budget=budget, max_drop=0.0)
    plan = _final_plan(evaluator, criteria, "mix", False)
    assert plan.name == chosen and known["mix"] == {"fold": 5, "whole": 8}[chosen]

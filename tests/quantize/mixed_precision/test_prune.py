"""Changes that a budget does not need are removed, but not the last one."""

from __future__ import annotations

import numpy as np
import pytest

from edgekit.toolkit.build import build_file
from edgekit.toolkit.compress import remove_constant_channels
from edgekit.toolkit.numerics import W8A16
from edgekit.toolkit.progress import silent
from edgekit.toolkit.quantize import Budget, quantize_model
from edgekit.toolkit.quantize.mixed_precision.criteria import Criteria
from edgekit.toolkit.quantize.mixed_precision.evaluator import Evaluator
from edgekit.toolkit.quantize.mixed_precision.precision_change import Configuration
from edgekit.toolkit.quantize.mixed_precision.search import PrecisionSearch, Ranking


def pack(graph):
    return build_file(graph, None, remove_constant_channels(graph))


@pytest.mark.parametrize(("rounding", "left"), [("gptq", 1), ("nearest", 0)])
def test_weights_of_a_mix_are_not_left_to_int8_that_has_its_own(g, rounding, left):
    a = g.conv(g.input("x", 1, 8, 8, 3), 8, act_min=0.0, name="a")
    net = g.output(g.conv(g.conv(a, 8, groups=8, act_min=0.0, name="b"), 4, kernel=1, name="c"))
    rng = np.random.default_rng(5)
    samples = [{"x": rng.normal(size=(1, 8, 8, 3)).astype(np.float32)} for _ in range(16)]
    done = quantize_model(net, samples, "minmax", rounding=rounding)
    evaluator = Evaluator(done, pack, None, True, silent)
    search = PrecisionSearch(evaluator, Criteria(Budget(min_sqnr=0.0), evaluator), 0, True, silent)
    start, changes = Configuration(evaluator.base), evaluator.changes_to(W8A16)
    ranking = Ranking([changes], {change: i for i, change in enumerate(changes)})
    assert len(search.prune(start.plus(changes), start, ranking).changes) == left < len(changes)

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from edgekit.toolkit.quantize.outputs.answers import Compared
from edgekit.toolkit.quantize.outputs.evaluation_points import EvaluationPoint
from edgekit.toolkit.quantize.rates.guard import CLASSES_DB, VALUES_DB, Loss


@pytest.mark.parametrize(
    ("of", "compared"),
    [
        ([Compared("y", "y", 0)], True),
        ([], False),
        ([Compared("y", "y", -1, part=(0, 2))], False),  # joined to other numbers
        ([Compared("y", "y", 0, least=True)], False),  # distances
    ],
)
def test_logits_are_classes_though_no_softmax_follows(of, compared):
    """A twentieth of what they are is noise; of numbers that tell no classes, of how they vary."""
    truth = np.random.default_rng(0).normal(3, 1, (64, 4))
    noise = np.full((1, 64), float(np.sum(np.square(truth))) / 64 / 400)
    answers = SimpleNamespace(compared=of)
    evaluator = SimpleNamespace(
        base=None,
        score=lambda _: SimpleNamespace(noise=noise),
        trials=SimpleNamespace(
            points=[EvaluationPoint("y")],
            truth=[dict(enumerate(truth))],
            weights=np.ones((1, 64)),
        ),
        figures=SimpleNamespace(answers=answers),
        quality=lambda _: SimpleNamespace(answers=None),
    )
    spare = Loss.of(evaluator).spare_db
    varied = 10 * np.log10(np.sum((truth - truth.mean(0)) ** 2) / noise.sum())
    assert spare == pytest.approx(26.02 - CLASSES_DB if compared else varied - VALUES_DB, abs=0.01)

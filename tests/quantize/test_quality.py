"""The level of a quantization by its figures."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from edgekit.toolkit.accuracy.verdict import verdict
from edgekit.toolkit.evaluation.sequences import lower
from edgekit.toolkit.quantize.outputs.answers import AnswerLoss
from edgekit.toolkit.quantize.outputs.evaluation_points import EvaluationPoint
from edgekit.toolkit.quantize.outputs.signals import variations
from edgekit.toolkit.quantize.quality import Quality


def level(changed, chance, samples, chosen=False, expected=0.001):
    answers = AnswerLoss(changed, 0.0, expected, chance)
    return Quality({"y": 45.0}, answers, samples, held_out=True, chosen=chosen).level


@pytest.mark.parametrize(
    ("changed", "chance", "samples", "chosen", "wanted"),
    [
        (1 / 64, 0.005, 64, False, "good"),
        (1 / 64, 0.005, 64, True, "good"),  # one answer, as likely by chance
        (1 / 64, 0.015, 64, True, "usable"),
        (2 / 64, 0.005, 64, False, "usable"),
        (3 / 256, 0.005, 256, False, "good"),
        (3 / 256, 0.005, 256, True, "usable"),
        (3 / 256, 0.013, 256, True, "usable"),
    ],
)
def test_answers_that_changed_are_allowed_as_far_as_chance_explains_one(
    changed, chance, samples, chosen, wanted
):
    assert level(changed, chance, samples, chosen) == wanted


@pytest.mark.parametrize(
    ("samples", "calibration", "wanted"),
    [(9, True, "usable"), (10, True, "good"), (1, False, "good")],
)
def test_few_calibration_samples_do_not_show_that_a_model_is_good(samples, calibration, wanted):
    given = samples if calibration else 0
    found = Quality({"y": 45.0}, None, samples, held_out=samples > 1, calibration=given)
    assert found.level == wanted and found.measured == "good"
    named = verdict(found, "all", ["another"], None, "promote")[1:]
    assert named == (
        ["cause: 9 calibration samples say too little of other inputs; use about 100"]
        if wanted == "usable"
        else []
    )


@pytest.mark.parametrize(("samples", "varies"), [(8, True), (7, False)])
def test_few_numbers_are_judged_by_how_they_vary_from_eight_samples_on(samples, varies):
    """Prices around 200,000 that differ by some thousands."""
    prices = 2e5 + 5e3 * np.random.default_rng(0).normal(size=(samples, 1))
    (found,) = variations([EvaluationPoint("price")], [list(prices)])
    whole = float(np.sum(prices**2))
    assert found == pytest.approx(samples * prices.var() if varies else whole)


def test_outputs_that_follow_a_level_need_more():
    """The output that determines the level is named."""
    sqnr = {"plain": 21.0, "leveled": 23.0}
    found = Quality(sqnr, None, 100, held_out=True, leveled=("leveled",))
    assert found.level == "usable" and found.lacking_db == 2.0
    assert "23.0 dB relative to each sample's level at 'leveled'" in found.in_words()
    assert replace(found, sqnr_db=sqnr | {"leveled": 25.0}).level == "good"
    broken = replace(found, sqnr_db={"plain": 14.0, "leveled": 16.0})
    assert broken.level == "broken" and broken.worst == ("plain", 14.0)
    assert replace(found, leveled=()).level == "good" and Quality({}, None, 9, False).worst is None


def test_a_verdict_over_sequences_says_what_its_sqnr_is_relative_to():
    steps = Quality({"y": 30.0}, None, 100, held_out=True, calibration=100)
    sequences = Quality({"y": 16.0}, None, 100, held_out=True, varying=("y",))
    found = lower(steps, sequences)
    assert found.in_words() == "SQNR 16.0 dB relative to the variation over sequences"
    assert lower(steps, None) == steps

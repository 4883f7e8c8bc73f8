"""The level of a quantization by its figures."""

from __future__ import annotations

import pytest

from edgekit.toolkit.quantize.quality import Quality
from edgekit.toolkit.quantize.ranges.answers import AnswerLoss


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

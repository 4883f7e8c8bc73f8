"""What an error is measured by where outputs hardly vary beside their size."""

from __future__ import annotations

import numpy as np
import pytest

from edgekit.toolkit.quantize.outputs.evaluation_points import EvaluationPoint
from edgekit.toolkit.quantize.outputs.signals import energies, variations
from edgekit.toolkit.quantize.quality import Quality
from edgekit.toolkit.quantize.ranges.candidate_evaluation import Score


@pytest.mark.parametrize(
    ("spread", "counts"), [(1e-3, True), (1e-4, True), (1e-5, False), (0.0, False)]
)
def test_a_position_within_a_building_is_measured_by_its_variation(spread, counts):
    """48.1374 and 11.5755 degrees: 1e-4 of one is about ten metres, 1e-5 three roundings
    of float32."""
    rng = np.random.default_rng(0)
    rows = [[np.float64([48.1374, 11.5755]) + spread * rng.normal(size=2) for _ in range(40)]]
    found, whole = variations([EvaluationPoint("y")], rows)[0], energies(rows)[0]
    assert found == pytest.approx(40 * 2 * spread**2, rel=0.3) if counts else found == whole


@pytest.mark.parametrize(("spread", "counts"), [(0.01, True), (0.2, False)])
def test_a_large_map_that_hardly_varies_is_measured_around_one_mean(spread, counts):
    """Hues of 80 x 80 pixels around grey, 0.5. What each pixel has on average is a signal, too."""
    rng = np.random.default_rng(0)
    picture = spread * rng.normal(size=(1, 2, 80, 80))
    rows = [0.5 + picture + spread * rng.normal(size=picture.shape) for _ in range(10)]
    point = EvaluationPoint("y")
    (found,), (whole,) = variations([point], [rows]), energies([rows])
    assert found == pytest.approx(10 * picture.size * 2 * spread**2, rel=0.05) or not counts
    assert (found < whole) == counts
    quality = Quality.of(
        Score(np.full((1, 10), whole / 1e6), energies([rows]), np.array([found])), [point]
    )
    assert ("relative to the variation" in quality.in_words()) == counts
    assert quality.varying == (("y",) if counts else ())

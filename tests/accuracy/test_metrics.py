from __future__ import annotations

import math

import numpy as np
import pytest

from edgekit.toolkit.accuracy import Difference, Top1, predicted_class, sqnr_db
from edgekit.toolkit.decibels import in_words, ratio_db


def test_sqnr_is_of_all_samples_together():
    rng = np.random.default_rng(0)
    truth = rng.normal(size=(5, 3, 4)).astype(np.float32)
    got = truth + rng.normal(size=truth.shape) * 0.01
    d = Difference()
    for a, r in zip(got, truth, strict=True):
        d.add(a, r)
    want = 10 * np.log10((truth.astype(np.float64) ** 2).sum() / ((got - truth) ** 2).sum())
    assert np.isclose(d.sqnr_db, want) and np.isclose(sqnr_db(got, truth), want)
    assert np.isclose(d.max_abs_error, np.abs(got - truth).max())


def test_cosine_is_the_mean_over_samples():
    d = Difference()
    d.add(np.array([1.0, 0.0]), np.array([2.0, 0.0]))
    d.add(np.array([0.0, 1.0]), np.array([1.0, 0.0]))
    assert np.isclose(d.cosine, 0.5)


def test_zeros_are_met_exactly_or_not_at_all():
    same, off = Difference(), Difference()
    same.add(np.zeros(3), np.zeros(3))
    off.add(np.ones(3), np.zeros(3))
    assert same.sqnr_db == 300.0 and same.cosine == 1.0
    assert off.sqnr_db == -300.0 and off.cosine == 0.0


@pytest.mark.parametrize("scale", [1e-30, 1e-12, 1.0, 1e30])
def test_what_is_equal_is_exact_and_nothing_else_is(scale):
    rng = np.random.default_rng(0)
    truth = rng.normal(size=100) * scale
    same, off = Difference(), Difference()
    same.add(truth, truth)
    off.add(np.where(np.arange(100) == 0, np.nextafter(truth, 0), truth), truth)
    assert same.sqnr_db == 300.0 and same.cosine == 1.0 and in_words(same.sqnr_db) == "exact"
    assert 200 < off.sqnr_db < 300 and in_words(off.sqnr_db).endswith(" dB")


def test_infinite_noise_has_no_number():
    assert [in_words(ratio_db(*r)) for r in ((1.0, np.inf), (0.0, 1.0))] == ["-inf dB"] * 2


@pytest.mark.parametrize("scale", [1e-12, 1e12])
def test_what_is_measured_does_not_hang_on_the_unit(scale):
    rng = np.random.default_rng(0)
    truth, got = rng.normal(size=(2, 100))
    plain, scaled = Difference(), Difference()
    plain.add(got, truth)
    scaled.add(got * scale, truth * scale)
    assert np.isclose(scaled.sqnr_db, plain.sqnr_db) and np.isclose(scaled.cosine, plain.cosine)


def test_not_a_number_is_not_hidden():
    d = Difference()
    d.add(np.array([math.nan, 1.0]), np.ones(2))
    assert math.isnan(d.sqnr_db) and math.isnan(d.max_abs_error)


def test_arrays_of_other_sizes_are_refused():
    with pytest.raises(ValueError, match="3 elements"):
        Difference().add(np.zeros(3), np.zeros(4))


def test_classes_are_read_from_scores_labels_and_probabilities():
    assert predicted_class(np.array([[0.1, 0.7, 0.7]])) == 1
    assert predicted_class(np.array([7], np.int64)) == 7
    assert predicted_class(np.array([[0.6]], np.float32)) == 1


def test_top1_counts_both_sides_and_agreement():
    t = Top1()
    scores = {c: np.eye(3)[c] for c in range(3)}
    for got, truth, label in [(0, 0, 0), (1, 2, 2), (1, 1, 0), (2, 2, 2)]:
        t.add(scores[got], scores[truth], label)
    assert t.to_json() == {"float": 0.75, "edge": 0.5, "agreement": 0.75}


def test_the_largest_error_is_of_all_samples_wherever_it_stands():
    for errors in ((0.5, 0.25, 0.125), (0.125, 0.5, 0.25), (0.25, 0.125, -0.5)):
        d = Difference()
        for e in errors:
            d.add(np.array([1.0, 2.0 + e]), np.array([1.0, 2.0]))
        assert d.max_abs_error == 0.5

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgekit.calibration import BY_EXTREMES, OBSERVERS, CalibrationError, TensorStats

_FLOATS = st.floats(width=32, allow_nan=False, allow_infinity=False)
_VALUES = st.lists(
    st.one_of(_FLOATS, st.just(0.0), st.floats(-1, 1, width=32)), min_size=1, max_size=60
)


def _state(stats: TensorStats) -> tuple[object, ...]:
    histogram = stats.histogram
    return (
        stats.count,
        stats.zeros,
        stats.minimum,
        stats.maximum,
        histogram.exponent,
        histogram.first,
        histogram.counts.tolist(),
    )


def _seen(parts: list[list[float]], bins: int = 64) -> TensorStats:
    stats = TensorStats(bins)
    for part in parts:
        stats.update(np.array(part, np.float32))
    return stats


@given(_VALUES, st.randoms(use_true_random=False), st.integers(0, 60))
def test_order_and_batching_do_not_change_the_state(values, random, cut):
    shuffled = random.sample(values, len(values))
    whole = _seen([values])
    assert _state(_seen([[v] for v in shuffled])) == _state(whole)
    assert _state(_seen([shuffled[:cut], shuffled[cut:]])) == _state(whole)


@given(_VALUES, _VALUES)
def test_merging_equals_seeing_both(one, other):
    merged = _seen([one])
    merged.merge(_seen([other]))
    assert _state(merged) == _state(_seen([one, other]))


@given(_VALUES)
@settings(max_examples=200)
def test_every_value_is_counted_in_its_bin(values):
    stats = _seen([values])
    histogram = stats.histogram
    expected = np.zeros_like(histogram.counts)
    for value in values:
        if value:
            expected[math.floor(math.ldexp(value, -histogram.exponent)) - histogram.first] += 1
    assert histogram.counts.tolist() == expected.tolist()
    assert stats.zeros == sum(value == 0 for value in values)
    assert stats.count == len(values)
    assert 1 <= len(histogram.counts) <= 64


@given(_VALUES)
def test_the_width_is_the_smallest_that_fits(values):
    histogram = _seen([values]).histogram
    finer = histogram.exponent - 1
    low, high = min(0.0, *values), max(0.0, *values)
    span = math.floor(math.ldexp(high, -finer)) - math.floor(math.ldexp(low, -finer)) + 1
    assert span > 64 or finer < -126


def test_a_tiny_negative_value_stays_negative_when_the_bins_grow():
    stats = _seen([[-1e-45, 1.0], [3e38]])
    histogram = stats.histogram
    assert histogram.counts[-histogram.first - 1] == 1


def test_counts_agree_with_numpy_on_a_large_tensor():
    x = np.random.default_rng(0).normal(0.3, 2, (300, 1000)).astype(np.float32)
    stats = TensorStats()
    stats.update(x)
    expected, _ = np.histogram(x.astype(np.float64), stats.histogram.edges)
    assert stats.histogram.counts.tolist() == expected.tolist()
    assert (stats.minimum, stats.maximum) == (x.min(), x.max())
    edges = stats.histogram.edges
    assert 0 in edges and len(edges) <= 8193


def test_the_moving_average_follows_its_formula():
    stats = TensorStats(momentum=0.5)
    for low, high in ((-1, 4), (-3, 2), (0, 8)):
        stats.update(np.array([low, high, 1], np.float32))
    assert stats.moving_minimum == pytest.approx(0.5 * (0.5 * -1 + 0.5 * -3) + 0)
    assert stats.moving_maximum == pytest.approx(0.5 * (0.5 * 4 + 0.5 * 2) + 0.5 * 8)


def test_extremes_alone_suffice_without_a_histogram():
    whole, ends = TensorStats(0), TensorStats(0)
    for values in ([1.0, -2.0, 0.5], [3.0], [-1.0, 0.0]):
        whole.update(np.array(values, np.float32))
        ends.update_extremes(min(values), max(values), len(values))
    assert vars(whole) == vars(ends) and whole.count == 6
    for other in (TensorStats(64), TensorStats(0, per_channel=True)):
        with pytest.raises(ValueError, match="needs all values, not only the extremes"):
            other.update_extremes(-1.0, 1.0, 2)


def test_merged_moving_averages_are_weighted_by_updates():
    one, other = _seen([[0, 2]]), _seen([[0, 8], [0, 8], [0, 8]])
    one.merge(other)
    assert one.moving_maximum == pytest.approx((2 + 3 * 8) / 4)
    assert one.updates == 4


def test_channels_are_the_last_axis():
    x = np.random.default_rng(0).normal(size=(4, 5, 3)).astype(np.float32)
    whole, parts, other = (TensorStats(per_channel=True) for _ in range(3))
    whole.update(x)
    parts.update(x[:2])
    other.update(x[2:])
    parts.merge(other)
    for stats in (whole, parts):
        assert np.array_equal(stats.channel_minimum, x.min((0, 1)))
        assert np.array_equal(stats.channel_maximum, x.max((0, 1)))


def test_channels_that_change_are_refused():
    stats = TensorStats(per_channel=True, name="conv")
    stats.update(np.ones((2, 3)))
    with pytest.raises(CalibrationError, match="'conv' has 4 channels, and had 3"):
        stats.update(np.ones((2, 4)))


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf, 1e300])
def test_what_is_not_finite_is_refused_and_nothing_changes(bad):
    stats = _seen([[1, 2]])
    before = _state(stats)
    stats.name = "logits"
    with pytest.raises(
        CalibrationError, match=r"'logits' contains \d NaN and \d infinite .* among 3"
    ):
        stats.update(np.array([1, bad, 5]))
    assert _state(stats) == before


def test_empty_constant_and_zero_tensors():
    stats = TensorStats()
    stats.update(np.zeros((0, 4)))
    assert (stats.count, stats.updates) == (0, 0)
    stats.update(np.zeros(7))
    assert (stats.count, stats.zeros, stats.histogram.counts.sum()) == (7, 7, 0)
    stats = TensorStats()
    stats.update(np.full(9, 3.5))
    assert stats.histogram.counts.sum() == stats.histogram.counts[-1] == 9


def test_integers_scalars_and_strided_arrays_are_read():
    stats = TensorStats()
    stats.update(np.arange(10, dtype=np.int8)[::3])
    stats.update(-2)
    assert (stats.count, stats.minimum, stats.maximum) == (5, -2, 9)


def test_observers_that_differ_do_not_merge():
    with pytest.raises(ValueError, match="equal bins"):
        TensorStats(64).merge(TensorStats(128))


def test_extremes_need_no_histogram():
    with_, without = TensorStats(), TensorStats(0)
    for stats in (with_, without):
        rng = np.random.default_rng(2)
        for _ in range(3):
            stats.update(rng.normal(size=50).astype(np.float32))
    for name in BY_EXTREMES:
        assert OBSERVERS[name](with_) == OBSERVERS[name](without)
    without.merge(TensorStats(0))
    for name in OBSERVERS.keys() - BY_EXTREMES:
        with pytest.raises(ValueError, match="histogram"):
            OBSERVERS[name](without)
    with pytest.raises(ValueError, match="equal bins"):
        without.merge(with_)


@pytest.mark.parametrize(("bins", "momentum"), [(1, 0.9), (1 << 21, 0.9), (64, 1.0)])
def test_impossible_settings_are_refused(bins, momentum):
    with pytest.raises(ValueError, match="must be"):
        TensorStats(bins, momentum=momentum)

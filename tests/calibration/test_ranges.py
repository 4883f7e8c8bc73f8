import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from edgekit.calibration import (
    OBSERVERS,
    CalibrationError,
    TensorStats,
    candidates,
    entropy,
    minmax,
    moving_average,
    mse,
    percentile,
    quantization_error,
)
from edgekit.calibration.histogram import Histogram
from edgekit.calibration.least_divergence import Divergence, least_divergence_bins
from edgekit.calibration.least_error import ErrorModel

_RANDOM = np.random.default_rng(7)
_TENSORS = {
    "normal": _RANDOM.normal(0.2, 1, 40_000),
    "relu": np.maximum(_RANDOM.normal(0, 1, 40_000), 0),
    "heavy": _RANDOM.standard_t(3, 40_000),
    "heavy relu": np.maximum(_RANDOM.standard_t(2.5, 40_000), 0),
    "uniform": _RANDOM.uniform(-1, 3, 40_000),
    "negative": -_RANDOM.exponential(1, 40_000),
    "outlier": np.append(_RANDOM.normal(0, 1, 40_000), 120.0),
    "spikes": _RANDOM.choice([-1.5, 0, 0.25, 6], 10_000),
}


def _stats(x):
    stats = TensorStats()
    stats.update(x)
    return stats


def _true_error(x, low, high, levels=256):
    step = (high - low) / (levels - 1)
    zero = round(-low / step)
    q = np.clip(np.rint(x / step), -zero, levels - 1 - zero)
    return np.mean((x - q * step) ** 2)


@pytest.fixture(params=_TENSORS)
def tensor(request):
    return _TENSORS[request.param].astype(np.float32).astype(np.float64)


def test_minmax_is_the_extremes_and_zero(tensor):
    assert minmax(_stats(tensor)) == (min(0, tensor.min()), max(0, tensor.max()))


def test_moving_average_of_one_update_is_minmax(tensor):
    assert moving_average(_stats(tensor)) == minmax(_stats(tensor))


@pytest.mark.parametrize("percent", [90, 99.9, 99.99, 100])
def test_percentile_is_that_of_the_whole_data(tensor, percent):
    stats = _stats(tensor)
    low, high = percentile(stats, percent)
    cut = (100 - percent) / 2
    width = stats.histogram.width
    # Between two values lies no unique percentile: either is right.
    below = [np.percentile(tensor, cut, method=m) for m in ("lower", "higher")]
    above = [np.percentile(tensor, 100 - cut, method=m) for m in ("lower", "higher")]
    assert min(0, below[0]) - width <= low <= min(0, below[1]) + width
    assert max(0, above[0]) - width <= high <= max(0, above[1]) + width
    assert minmax(stats)[0] <= low <= 0 <= high <= minmax(stats)[1]


def test_percentile_counts_exact_zeros():
    x = np.append(np.zeros(9_990), np.linspace(1, 2, 10))
    assert percentile(_stats(x), 99.9) == (0, pytest.approx(1.5, abs=0.12))
    assert percentile(_stats(x), 99) == (0, 0)


@pytest.mark.parametrize("percent", [0, -1, 100.1, math.nan])
def test_an_impossible_percentage_is_refused(percent):
    with pytest.raises(ValueError, match="must be above 0"):
        percentile(_stats([1.0]), percent)


def test_the_expected_error_is_the_measured_error(tensor):
    stats = _stats(tensor)
    low, high = minmax(stats)
    # Values repeated off the bins' middle are not evenly spread: the spikes are the worst case.
    spread = 0.03 if len(np.unique(tensor)) > 100 else 0.5
    for a, b in ((1, 1), (0.7, 0.9), (0.3, 0.2)):
        if a * low < b * high:
            error = quantization_error(stats, a * low, b * high)
            assert error == pytest.approx(_true_error(tensor, a * low, b * high), rel=spread)


@pytest.mark.parametrize("ends", [(-3.1, 5.3), (-0.37, 2.2), (0, 3.3), (-2.9, 0)])
def test_the_error_is_exact_where_values_are_even_within_bins(ends):
    stats = TensorStats(16)
    x = (np.arange(-4096, 8192) + 0.5) / 1024
    x = np.append(x, x[x > 2])
    stats.update(x)
    assert stats.histogram.width == 1
    for levels in (8, 16):
        error = quantization_error(stats, *ends, levels)
        assert error == pytest.approx(_true_error(x, *ends, levels), rel=1e-4)


def test_the_error_of_an_empty_range_is_the_mean_square(tensor):
    assert quantization_error(_stats(tensor), 0, 0) == pytest.approx(np.mean(tensor**2), rel=1e-3)


def test_a_range_without_zero_has_no_error():
    with pytest.raises(ValueError, match="does not contain 0"):
        quantization_error(_stats([1.0]), 0.5, 1)


def test_mse_is_as_good_as_a_search_of_all_ranges_on_the_data(tensor):
    x = tensor[::4]
    low, high = minmax(_stats(x))
    lows = low * np.linspace(0.04, 1, 33) if low < 0 else [0.0]
    highs = high * np.linspace(0.04, 1, 33) if high > 0 else [0.0]
    best = min(_true_error(x, a, b) for a in lows for b in highs)
    found = _true_error(x, *mse(_stats(x)))
    spread = 1.02 if len(np.unique(x)) > 100 else 1.3
    assert found <= spread * best
    assert found <= 1.02 * _true_error(x, low, high)


def test_mse_of_steps_that_clip_too_much_is_not_summed(tensor, monkeypatch):
    every, summed = ErrorModel.errors, []

    def counted(self, step, most):
        errors = every(self, step, most)
        summed.append(np.isfinite(errors[0]))
        return errors

    stats = _stats(tensor)
    monkeypatch.setattr(ErrorModel, "errors", counted)
    found, steps = mse(stats), sum(summed)
    summed.clear()
    monkeypatch.setattr(ErrorModel, "errors", lambda self, step, _: counted(self, step, np.inf))
    assert found == mse(stats)
    assert steps < 0.8 * sum(summed) == 0.8 * 89


def test_mse_ends_are_multiples_of_its_step(tensor):
    low, high = mse(_stats(tensor))
    step = (high - low) / 255
    assert low / step == pytest.approx(round(low / step), abs=1e-6)


def test_heavy_tails_are_clipped_by_all_but_minmax():
    stats = _stats(_TENSORS["heavy"])
    low, high = minmax(stats)
    for name in ("percentile", "entropy", "mse"):
        a, b = OBSERVERS[name](stats)
        assert low < 0.9 * a and b < 0.9 * high, name


def test_zeros_do_not_change_entropy_and_mse():
    x = np.abs(_TENSORS["heavy"])
    with_zeros = np.append(x, np.zeros(300_000))
    assert entropy(_stats(with_zeros)) == entropy(_stats(x))
    assert mse(_stats(with_zeros)) == mse(_stats(x))


def test_entropy_keeps_the_whole_of_a_uniform_tensor():
    x = _TENSORS["uniform"]
    assert entropy(_stats(x)) == pytest.approx((x.min(), x.max()), abs=0.05)


def _naive_divergence(counts, a, b, levels):
    """The definition of `Divergence.of`, bin by bin."""
    kept = np.array(counts[a:b], float)
    reference = kept.copy()
    reference[0] += sum(counts[:a])
    reference[-1] += sum(counts[b:])
    candidate = np.zeros_like(kept)
    for level in range(levels):
        bins = range(level * (b - a) // levels, (level + 1) * (b - a) // levels)
        filled = [i for i in bins if kept[i] > 0]
        for i in filled:
            candidate[i] = sum(kept[j] for j in bins) / len(filled)
    p, q = reference / reference.sum(), candidate / candidate.sum()
    return sum(pi * math.log(pi / qi) for pi, qi in zip(p, q, strict=True) if pi > 0)


@given(
    st.lists(st.integers(0, 50), min_size=12, max_size=40), st.integers(0, 39), st.integers(0, 39)
)
def test_divergence_is_its_definition(counts, a, length):
    levels, counts = 4, np.array(counts)
    a = min(a, len(counts) - levels)
    b = min(a + levels + length, len(counts))
    found = Divergence(counts, levels).of(np.array([a]), np.array([b]))[0]
    if counts[a:b].sum() == 0 or (counts[:a].any() and not counts[a]) or (
        counts[b:].any() and not counts[b - 1]
    ):  # fmt: skip
        assert found == math.inf
    else:
        assert found == pytest.approx(_naive_divergence(counts, a, b, levels), abs=1e-9)


@pytest.mark.parametrize("name", ["normal", "heavy", "relu", "negative"])
def test_entropy_is_close_to_the_best_of_all_ranges(name):
    histogram = Histogram(256)
    x = _TENSORS[name][_TENSORS[name] != 0].astype(np.float32)
    histogram.cover(float(x.min()), float(x.max()))
    histogram.add(x)
    levels, n, zero = 32, len(histogram.counts), -histogram.first
    divergence = Divergence(histogram.counts, levels)
    a, b = np.meshgrid(np.arange(zero + 1), np.arange(zero, n + 1), indexing="ij")
    keep = b > a
    values = divergence.of(a[keep], b[keep])
    found = least_divergence_bins(histogram, levels)
    got = divergence.of(np.array([found[0]]), np.array([found[1]]))[0]
    whole = divergence.of(np.array([0]), np.array([n]))[0]
    assert values.min() <= got <= values.min() + 0.1 * (whole - values.min()) + 1e-9


@pytest.mark.parametrize("name", OBSERVERS)
@pytest.mark.parametrize("value", [3.5, -2.25, 1e-30, -3e38])
def test_a_constant_tensor_keeps_its_value(name, value):
    low, high = OBSERVERS[name](_stats(np.full(50, value)))
    assert low <= 0 <= high
    assert _true_error(np.float64(np.float32(value)), low, high) <= (value / 200) ** 2


@pytest.mark.parametrize("name", OBSERVERS)
def test_a_zero_tensor_has_an_empty_range(name):
    assert OBSERVERS[name](_stats(np.zeros(5))) == (0, 0)


@pytest.mark.parametrize("name", OBSERVERS)
def test_no_values_is_an_error(name):
    with pytest.raises(CalibrationError, match="'conv1' has seen no values; run the model"):
        OBSERVERS[name](TensorStats(name="conv1"))


@pytest.mark.parametrize("name", OBSERVERS)
@settings(max_examples=30)
@given(values=st.lists(st.floats(width=32, allow_nan=False, allow_infinity=False), min_size=1))
def test_every_range_is_finite_and_holds_zero(name, values):
    low, high = OBSERVERS[name](_stats(values))
    assert math.isfinite(low) and math.isfinite(high) and low <= 0 <= high
    assert isinstance(low, float) and isinstance(high, float)


def test_candidates_are_all_observers_once():
    names = [name for name, _ in candidates(_stats(_TENSORS["heavy"]))]
    # One update, so moving-average is minmax; 99.999 % of 40,000 values are all of them.
    assert names == ["minmax", "percentile", "entropy", "mse", "percentile-99.9"]
    assert [name for name, _ in candidates(_stats(np.zeros(3)))] == ["minmax"]

import math

import numpy as np
import pytest

from edgekit.calibration import channel_extremes, channel_means, median
from edgekit.calibration.array_statistics import SPARE, add_to_bins, extremes


@pytest.mark.parametrize("count", [1, 2, 31, 63, 64, 65, 700])
@pytest.mark.parametrize("channels", [1, 3, 8, 511, 600])
def test_extremes_and_means_of_channels_are_those_of_numpy(count, channels):
    rows = np.random.default_rng(count).normal(size=(count, channels)).astype(np.float32)
    low, high = channel_extremes(rows)
    np.testing.assert_array_equal(low, rows.min(axis=0))
    np.testing.assert_array_equal(high, rows.max(axis=0))
    in_order = np.add.accumulate(rows.astype(np.float64), axis=0)[-1] / count
    means = channel_means(rows)
    np.testing.assert_allclose(means, in_order, rtol=1e-12, atol=1e-14)
    if channels > 1:  # the same on every machine
        np.testing.assert_array_equal(means, in_order)
    squares = np.add.accumulate(np.square(rows, dtype=np.float64), axis=0)[-1] / count
    np.testing.assert_allclose(channel_means(rows, power=2), squares, rtol=1e-12)
    if channels > 1:
        np.testing.assert_array_equal(channel_means(rows, power=2), squares)


@pytest.mark.parametrize("count", [1, 7, 16, 1000])
def test_extremes_are_those_of_numpy(count):
    x = np.random.default_rng(count).normal(size=count).astype(np.float32)
    for y in (x, -np.abs(x), np.abs(x), np.zeros_like(x), x * np.float32(1e-44)):
        assert extremes(y) == (y.min(), y.max())
    for odd in (np.inf, -np.inf, np.nan, -np.float32(np.nan)):
        x[count // 2] = odd
        assert not all(map(math.isfinite, extremes(x)))


@pytest.mark.parametrize("count", [1, 511, 512, 513, 5000])
@pytest.mark.parametrize("exponent", [-9, -126])
def test_values_are_counted_in_their_bins(count, exponent):
    random = np.random.default_rng(count)
    x = random.normal(size=count).astype(np.float32)
    if exponent < -100:
        x = x * np.float32(2.0**-121)
    x[random.random(count) < 0.4] = 0
    x[random.random(count) < 0.1] = -1e-45  # times 2^9, this rounds to nothing below 2^-9
    index = [math.floor(math.ldexp(v, -exponent)) for v in map(float, x)]
    first = min(0, *index)
    counts = np.ones(max(0, *index) - first + 1 + SPARE, np.int64)
    counts[-SPARE:] = 0
    expected = counts.copy()
    np.add.at(expected, np.array(index)[x != 0] - first, 1)
    assert add_to_bins(counts, first, exponent, x) == np.count_nonzero(x == 0)
    np.testing.assert_array_equal(counts, expected)


@pytest.mark.parametrize("shape", [1, 2, 3, 10, 101, (4, 5)])
def test_medians_are_those_of_numpy(shape):
    x = np.random.default_rng(0).normal(size=shape)
    assert median(x) == np.median(x)
    x.flat[0] = np.inf
    assert median(x) == np.median(x)
    x.flat[-1] = np.nan
    assert math.isnan(median(x))

import numpy as np
import pytest

from edgekit.calibration import channel_extremes, channel_means


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

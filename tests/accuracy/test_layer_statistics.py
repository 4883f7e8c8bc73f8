"""Statistics of layers, against what QuantParams quantizes and holds."""

import numpy as np
import pytest

from edgekit.toolkit.accuracy.layer_statistics import LayerStatistics
from edgekit.toolkit.ir import QuantParams

QUANTS = [QuantParams((0.03,), 5), QuantParams((0.2,), -128), QuantParams.int16(0.0004)]


@pytest.mark.parametrize("quant", QUANTS)
@pytest.mark.parametrize("floored", [False, True])
@pytest.mark.parametrize("shape", [(1, 1), (1, 700), (7, 31, 3), (2, 9, 40), (11, 16)])
def test_statistics_are_those_of_what_a_tensor_holds(shape, floored, quant):
    rng = np.random.default_rng(7)
    x = rng.normal(size=shape).astype(np.float32) * 5
    y = x + rng.normal(size=shape).astype(np.float32) * 0.02
    floor = rng.normal(size=shape).astype(np.float32) if floored else None
    statistics = LayerStatistics(quant, shape)
    statistics.add(x, y, floor)

    low = -np.inf if floor is None else floor
    given = np.maximum(x, low)
    held, held_weighted = (
        np.maximum(quant.dequantize(quant.quantize(v)), low).astype(np.float64) for v in (x, y)
    )
    steps = np.rint(x / np.float32(quant.scalar)) + quant.zero_point
    beyond = ((steps < quant.qmin) | (steps > quant.qmax)) & (held != given)
    squares = np.square(held - given)
    assert statistics.clipped == beyond.sum() and statistics.count == x.size
    assert statistics.clipping == pytest.approx(squares[beyond].sum(), rel=1e-4)
    assert statistics.rounding == pytest.approx(squares[~beyond].sum(), rel=1e-3)
    assert statistics.signal == pytest.approx(np.square(given, dtype=np.float64).sum())
    off = np.maximum(y, low) - given
    assert statistics.weights == pytest.approx(np.square(off, dtype=np.float64).sum())
    assert statistics.both == pytest.approx(np.square(held_weighted - given).sum(), rel=1e-3)
    rows = (-1, shape[-1])
    np.testing.assert_allclose(statistics.shift, off.reshape(rows).sum(axis=0), atol=1e-4)
    np.testing.assert_array_equal(statistics.channel_low, given.reshape(rows).min(axis=0))
    np.testing.assert_array_equal(statistics.channel_high, given.reshape(rows).max(axis=0))
    places = quant.quantize(given).astype(np.int64).ravel() - quant.qmin
    bins = 256 * places // (quant.qmax - quant.qmin + 1)
    np.testing.assert_array_equal(statistics.bins, np.bincount(bins, minlength=256))


def test_infinite_values_and_none_at_all_are_counted_where_they_are():
    statistics = LayerStatistics(QuantParams((0.1,)), (1, 3))
    statistics.add(np.array([[np.inf, np.nan, 0.05]], np.float32))
    assert statistics.clipped == 2 and statistics.clipping_samples == 1
    assert statistics.bins[255] == 1 and statistics.bins.sum() == 3

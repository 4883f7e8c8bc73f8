from __future__ import annotations

import numpy as np
import pytest

from edgekit.toolkit.quantize.weights.weight_quantizer import (
    WeightFormat,
    channel_scales,
    make_weight_quantizer,
    round_to_nearest,
    target_scales,
)


def grid_of(weight, form, search=False):
    rows = weight.reshape(len(weight), -1).astype(float)
    floor = np.full(len(rows), 1e-9)
    return rows, make_weight_quantizer(
        target_scales(rows, form, search), form, rows.shape[1], floor
    )


def test_each_channel_uses_all_levels_of_a_narrow_symmetric_range():
    w = np.array([[1.0, -2.0], [0.001, 0.0004], [0.0, 0.0]])
    scales = channel_scales(w, search=False)
    assert np.allclose(scales[:2] * 127, [2.0, 0.001]) and scales[2] == 0.0
    rows, grid = grid_of(w, WeightFormat())
    assert grid.int8(grid.nearest(rows)).tolist() == [[64, -127], [127, 51], [0, 0]]
    assert np.allclose(round_to_nearest(w, WeightFormat()), w, atol=2 / 250)


def test_a_searched_scale_never_has_the_larger_squared_error():
    w = np.random.default_rng(0).normal(size=(16, 3, 3, 1))

    def errors(search):
        rows, grid = grid_of(w, WeightFormat(), search)
        return ((grid.nearest(rows) * grid.steps - rows) ** 2).sum(axis=1)

    assert np.all(errors(True) <= errors(False) + 1e-12)
    assert errors(True).sum() < 0.8 * errors(False).sum()


def test_four_bits_clip_where_it_pays():
    w = np.random.default_rng(1).standard_t(3, size=(8, 256))
    rows, grid = grid_of(w, WeightFormat(4))
    plain = np.abs(rows).max(axis=1) / 7
    assert np.all(grid.scales < plain)
    clipped = ((grid.nearest(rows) * grid.steps - rows) ** 2).sum()
    whole = np.clip(np.rint(rows / plain[:, None]), -7, 7) * plain[:, None]
    assert clipped < 0.9 * ((whole - rows) ** 2).sum()


@pytest.mark.parametrize("k", [32, 33, 100, 256])
def test_groups_share_a_multiplier_and_stay_int8(k):
    rng = np.random.default_rng(k)
    w = rng.normal(size=(8, k)) * np.exp2(rng.uniform(-4, 0, (8, k // 32 + 1))).repeat(32, 1)[:, :k]
    rows, grid = grid_of(w, WeightFormat(4, 32))
    z = grid.nearest(rows)
    assert np.abs(z).max() <= 7 and np.array_equal(grid.int8(z), (z * grid.factors))
    if k == 32:
        assert grid.multipliers is None and grid.form.group_size == 0
        return
    assert grid.multipliers.shape == (8, -(-k // 32))
    assert grid.multipliers.min() >= 1 and grid.multipliers.max() == 16
    plain = grid_of(w, WeightFormat(4))[1]
    errors = [((g.nearest(rows) * g.steps - rows) ** 2).sum() for g in (grid, plain)]
    assert errors[0] < 0.9 * errors[1]


def test_importance_draws_the_error_elsewhere():
    w = np.random.default_rng(2).standard_t(2, size=(4, 64))
    counts = np.ones_like(w)
    counts[:, :8] = 100
    form = WeightFormat(4)
    errors = []
    for importance in (None, counts):
        wanted = target_scales(w, form, True, importance)
        grid = make_weight_quantizer(wanted, form, 64, np.zeros(4))
        errors.append((counts * (grid.nearest(w) * grid.steps - w) ** 2).sum())
    assert errors[1] < errors[0]

"""Sums and triangular systems of the quantizer against numpy: exact, or in the order said."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.lib.stride_tricks import sliding_window_view

from edgekit.toolkit.runtime import cores, linear_algebra, whole_sums
from edgekit.toolkit.runtime.whole_sums import Windows


@pytest.fixture(autouse=True, params=["alone", "in threads"])
def threads(request, monkeypatch):
    """Whether rows are shared among threads, which some functions do where there are many."""
    if request.param == "in threads":
        monkeypatch.setattr(cores.os, "sched_getaffinity", lambda _: {0, 1, 2}, raising=False)
        for module in (linear_algebra, whole_sums):
            monkeypatch.setattr(module, "_SHARED", 0)
        monkeypatch.setattr(whole_sums, "_ROWS", 32)


def whole(rows, k, most, seed=0):
    """Integers up to `most` in magnitude, the largest among them; the last column is constant."""
    found = np.random.default_rng(seed).integers(-most, most + 1, (rows, k)).astype(np.int32)
    found[0] = most
    found[:, -1] = -most
    return found


@pytest.mark.parametrize(("rows", "k", "n"), [(1, 1, 1), (7, 5, 4), (100, 9, 130), (700, 67, 6)])
@pytest.mark.parametrize(("a_most", "b_most"), [(255, 4000), (1, 32767), (32767, 32767),
                                                (255, 1 << 22), (1 << 30, 3)])  # fmt: skip
def test_inner_products_are_exact(rows, k, n, a_most, b_most):
    a, b = whole(rows, k, a_most), whole(rows, n, b_most, 1)
    middle = np.full(k, 100, np.int32), np.arange(n, dtype=np.int32)
    x, y = (v.astype(np.int64) - m for v, m in zip((a, b), middle, strict=True))
    assert np.array_equal(whole_sums.inner_products(a, b, middle), x.T @ y)


@pytest.mark.parametrize(
    ("most", "dtype"),
    [(255, np.int32), (20_000, np.int16), (32_760, np.int16), (1 << 20, np.int32)],
)
def test_outer_products_are_exact_and_those_with_themselves(most, dtype):
    a, middle = whole(70, 45, most).astype(dtype), np.arange(45, dtype=np.int32)
    x = a.astype(np.int64) - middle
    assert np.array_equal(whole_sums.outer_products(a, middle), x @ x.T)
    assert np.array_equal(whole_sums.inner_products(a, a, (middle, middle)), x.T @ x)


@pytest.mark.parametrize(("rows", "k"), [(1, 5), (7, 40), (13, 577), (150, 301)])
def test_squares_of_few_rows_are_those_of_their_columns(rows, k):
    """In the order of numpy, from products of rows: of integers below 2**53 each order is exact."""
    q = np.stack([whole(rows, k, 200, seed) for seed in range(3)]).astype(np.int16)
    middle = np.arange(k, dtype=np.int32) % 9
    x = q.astype(np.int64) - middle
    outer = np.einsum("srk,stk->srt", x, x).astype(np.float64)
    powers = (x * x).sum(axis=1).astype(np.float64)
    each = zip(outer.reshape(3, -1), powers, strict=True)
    squares = [(a * a).sum() - (p * p).sum() for a, p in each]
    assert whole_sums.few_squares(q, middle) == squares[0] + squares[1] + squares[2]
    inner = np.einsum("srk,srl->skl", x, x).astype(np.float64)
    beside = (inner**2).sum() - (np.einsum("skk->sk", inner) ** 2).sum()
    assert whole_sums.few_squares(q, middle) == pytest.approx(beside, rel=1e-12)


def test_squares_of_large_numbers_are_left_to_others():
    q, none = np.full((2, 3, 8), 32_000, np.int16), np.zeros(8, np.int32)
    assert whole_sums.few_squares(q, none) is None  # a sum of products above 32 bits
    assert whole_sums.few_squares(q, none - 1000) is None  # a difference above 16 bits
    assert whole_sums.few_squares(q.astype(np.int32), none) is None


@pytest.mark.parametrize("groups", [1, 3, 6])
def test_columns_are_rounded_windows_of_each_image(groups):
    rng = np.random.default_rng(3)
    x = rng.normal(size=(2, 9, 8, 6)).astype(np.float32)
    w = Windows((9, 8, 6), groups, (3, 2), (2, 1), (1, 3), (1, 2), (4, 8))
    padded = np.pad(np.rint(x.astype(np.float64) / 0.01), ((0, 0), (1, 1), (2, 2), (0, 0)))
    windows = sliding_window_view(padded, (3, 4), axis=(1, 2))[:, ::2, ::1, :, ::1, ::3][:, :4, :8]
    wanted = windows.reshape(64, groups, 6 // groups, 3, 2).transpose(1, 0, 3, 4, 2)
    places = np.array([0, 5, 31, 32, 40, 63])
    for some in (places, np.arange(64)):  # of few each number is rounded where it is met
        (found,) = whole_sums.columns(w, x, 0.01, some[None])
        assert np.array_equal(found, wanted.reshape(groups, 64, -1)[:, some])
        totals = found.sum(axis=1, dtype=np.int64)
        for wide in (found, found.astype(np.int32)):
            assert np.array_equal(whole_sums.sums(wide), totals)


@pytest.mark.parametrize("kind, zero", [(np.int8, -7), (np.int16, 0)])
@pytest.mark.parametrize("groups", [1, 3, 6])
def test_columns_of_integers_are_those_of_floats(kind, zero, groups):
    most = np.iinfo(kind)
    x = np.random.default_rng(5).integers(most.min, most.max + 1, (2, 9, 8, 6)).astype(kind)
    w = Windows((9, 8, 6), groups, (3, 2), (2, 1), (1, 3), (1, 2), (4, 8))
    for places in (np.array([0, 5, 31, 32, 63]), np.arange(64)):
        found = whole_sums.whole_columns(w, x, zero, places[None])
        assert found.dtype == np.int16
        real = x.astype(np.int32) - zero
        assert np.array_equal(found, whole_sums.columns(w, real, 1.0, places[None]))
        own = np.stack([places % 32, 31 - places % 32])  # of each image, as of a sample
        alone = [
            whole_sums.whole_columns(w, v[None], zero, at[None])
            for v, at in zip(x, own, strict=True)
        ]
        assert np.array_equal(whole_sums.whole_columns(w, x, zero, own), np.concatenate(alone))
        assert np.array_equal(whole_sums.columns(w, real, 1.0, own), np.concatenate(alone))


def test_columns_of_many_channels_that_are_each_a_group():
    rng, depth = np.random.default_rng(4), 37
    x = rng.normal(size=(1, 5, 4, depth)).astype(np.float32)
    w = Windows((5, 4, depth), depth, (3, 3), (1, 1), (1, 1), (1, 1), (5, 4))
    padded = np.pad(np.rint(x.astype(np.float64) / 0.5), ((0, 0), (1, 1), (1, 1), (0, 0)))
    wanted = sliding_window_view(padded[0], (3, 3), axis=(0, 1)).reshape(20, depth, 9)
    for places in (np.array([0, 7, 19]), np.arange(20)):
        (found,) = whole_sums.columns(w, x, 0.5, places[None])
        assert np.array_equal(found, wanted.swapaxes(0, 1)[:, places])


def test_columns_that_no_integer_holds_are_the_largest():
    alone = Windows((1, 1, 4), 1, (1, 1), (1, 1), (1, 1), (0, 0), (1, 1))
    x = np.array([np.inf, -np.inf, 1e30, -1e30], np.float32).reshape(1, 1, 1, 4)
    most = np.iinfo(np.int32).max
    found = whole_sums.columns(alone, x, 1.0, np.array([[0]]))
    assert found.ravel().tolist() == [most, -most, most, -most]


@pytest.mark.parametrize(
    ("samples", "groups", "k", "rows"),
    [(3, 5, 9, 37), (4, 2, 64, 300), (1, 1, 1, 513), (2, 1, 150, 40), (5, 300, 2, 3), (2, 3, 8, 1)],
)
def test_moments_of_samples_are_those_of_each(samples, groups, k, rows):
    rng = np.random.default_rng(k)
    x, q = (rng.integers(-m, m, (samples, groups, rows, k)).astype(np.int16) for m in (4000, 255))
    middle = tuple(rng.integers(-50, 50, (groups, k)).astype(np.int32) for _ in range(2))
    found = whole_sums.moments(x, q, middle)
    assert found is not None
    x, q = (v.astype(np.int64) - m[:, None] for v, m in zip((x, q), middle, strict=True))
    own = np.einsum("sgni,sgnj->sgij", q, q)
    assert np.array_equal(found[0], own.sum(axis=0))
    assert np.array_equal(found[1], np.einsum("sgni,sgnj->gij", x, q))
    squares = 0.0
    for m in own.astype(np.float64):
        diagonal = np.ascontiguousarray(np.einsum("gii->gi", m))
        squares += (m * m).sum() - (diagonal * diagonal).sum(axis=1).sum()
    assert found[2] == squares


@pytest.mark.parametrize("k", [3, 40])
def test_moments_of_a_few_large_values_are_summed_in_32_bits(k):
    """The largest product times the number of products exceeds int32; the sums do not."""
    rng = np.random.default_rng(k)
    x, q = (rng.integers(-m, m, (3, 2, 341, k)).astype(np.int16) for m in (800, 50))
    x[:, :, 7], q[:, :, 7] = 8000, -511
    none = np.zeros((2, k), np.int32)
    found = whole_sums.moments(x, q, (none, none))
    assert found is not None and np.iinfo(np.int32).max < 8000 * 511 * 341 * 3
    for sums, (a, b) in zip(found[:2], ((q, q), (x, q)), strict=True):
        assert np.array_equal(sums, np.einsum("sgni,sgnj->gij", a, b, dtype=np.int64))


@pytest.mark.parametrize("k", [2, 16])
def test_moments_that_are_too_large_are_not_summed_in_32_bits(k):
    q = np.full((1, 1, 4, k), 20_000, np.int16)
    middle = np.zeros((1, k), np.int32)
    assert whole_sums.moments(q, q, (middle, middle)) is not None
    assert whole_sums.moments(q, np.tile(q, (1, 1, 2, 1)), (middle, middle)) is None
    small = np.full((1, 1, 16, k), 9, np.int16)
    for far in (-32_765, 32_777, -65_000):
        assert whole_sums.moments(small, small, (middle + far, middle + 9)) is None
        assert whole_sums.moments(small, small, (middle, middle + far)) is None
    assert whole_sums.moments(q.astype(np.int32), q, (middle, middle)) is None


@pytest.mark.parametrize(("groups", "k", "rows"), [(5, 9, 37), (2, 64, 300), (1, 1, 513)])
@pytest.mark.parametrize("most", [(4000, 255), (32767, 32767), (1 << 20, 1 << 17)])
def test_moments_of_many_small_groups_are_added(groups, k, rows, most):
    x, q = (np.stack([whole(rows, k, m, g) for g in range(groups)]) for m in most)
    middle = tuple(np.arange(groups * k, dtype=np.int32).reshape(groups, k) % 50 for _ in range(2))
    qq, xq = np.ones((groups, k, k)), np.zeros((groups, k, k))
    whole_sums.add_small_moments(x, q, middle, (qq, xq))
    x, q = (v.astype(np.float64) - m[:, None] for v, m in zip((x, q), middle, strict=True))
    assert np.array_equal(qq, q.swapaxes(1, 2) @ q + 1)
    assert np.array_equal(xq, x.swapaxes(1, 2) @ q)


SYSTEMS = ((1, 5), (3, 5), (8, 3), (9, 5), (16, 5), (41, 5), (72, 70), (131, 2), (150, 6))


REALS = pytest.mark.parametrize("dtype", [np.float64, np.float32])


def system(k, rows=5, groups=2, dtype=np.float64):
    rng = np.random.default_rng(k)
    x = rng.normal(size=(groups, 2 * k + 3, k))
    h, b = x.swapaxes(1, 2) @ x + np.eye(k), rng.normal(size=(groups, rows, k))
    return h.astype(dtype), b.astype(dtype)


def close(found, wanted):
    return np.allclose(found, wanted, atol=1e-8 if wanted.dtype == np.float64 else 1e-2)


@REALS
@pytest.mark.parametrize(("k", "rows"), SYSTEMS)
def test_a_product_has_the_bits_of_sums_in_order(k, rows, dtype):
    m, a = system(k, rows, dtype=dtype)
    total = np.zeros(a.shape, dtype)
    for j in range(k):
        total += a[:, :, j, None] * m[:, None, j, :]
    assert np.array_equal(linear_algebra.product(a, m), total)


@pytest.mark.parametrize("kind", [np.int32, np.float64])
@pytest.mark.parametrize(("k", "groups"), [(1, 1), (5, 3), (16, 2), (41, 1)])
def test_moments_without_a_part_are_about_the_means_of_the_rest(k, groups, kind):
    rng = np.random.default_rng(k)
    part, rest = (rng.integers(-(1 << 30), 1 << 30, (groups, k, k)) for _ in range(2))
    whole, left = (part + rest).astype(np.float64), part.astype(kind)
    beside = rest * (1 - np.eye(k))
    assert np.isclose(linear_algebra.squares_without(whole, left), (beside**2).sum(), rtol=1e-13)
    mean, diagonal = rng.normal(scale=1e3, size=(2, groups, k))
    wanted = 0.7 * (rest / 900 - mean[:, :, None] * mean[:, None, :])
    np.einsum("gii->gi", wanted)[...] = diagonal
    found = linear_algebra.moments_without(whole, left, 900, 0.7, mean, diagonal)
    assert found.dtype == np.float32 and np.allclose(found, wanted, rtol=1e-6)


@REALS
@pytest.mark.parametrize(("k", "rows"), [*SYSTEMS, (300, 70)])
def test_a_product_with_whole_numbers_is_that_with_the_same_reals(k, rows, dtype):
    rng = np.random.default_rng(k)
    a = rng.normal(size=(2, rows, k)).astype(dtype)
    m, less = rng.integers(-(1 << 31), 1 << 31, (2, 2, k, k), np.int32)
    reals = m.astype(np.float64)
    assert np.array_equal(linear_algebra.product(a, m), linear_algebra.product(a, reals))
    off = linear_algebra.product(a, reals / 16 - less)
    assert np.array_equal(linear_algebra.product(a, m, less, 1 / 16), off)
    assert np.array_equal(linear_algebra.product(a, reals, less, 1 / 16), off)


@REALS
@pytest.mark.parametrize(("k", "rows"), SYSTEMS)
def test_the_triangular_factor_has_the_bits_of_updates_in_order(k, rows, dtype):
    h, _ = system(k, rows, dtype=dtype)
    left, wanted = h.copy(), np.zeros_like(h)
    for j in range(k):
        row = left[:, j, j:] / np.sqrt(left[:, j, j])[:, None]
        wanted[:, j, j:] = row
        left[:, j + 1 :, j + 1 :] -= row[:, 1:, None] * row[:, None, 1:]
    found = linear_algebra.cholesky(h)
    assert np.array_equal(found, wanted)
    assert found.dtype == dtype and close(found.swapaxes(1, 2) @ found, h)


@pytest.mark.parametrize("last", [0.5, 1.0, np.nan])
def test_a_matrix_that_is_not_positive_definite_is_refused(last):
    h = np.stack([np.eye(3), [[1.0, 0, 1], [0, 1, 0], [1, 0, last]]])
    with pytest.raises(np.linalg.LinAlgError, match="positive definite"):
        linear_algebra.cholesky(h)


@REALS
@pytest.mark.parametrize(("k", "rows"), SYSTEMS)
def test_divisions_have_the_bits_of_updates_in_order(k, rows, dtype):
    h, b = system(k, rows, dtype=dtype)
    r = linear_algebra.cholesky(h)
    y = b.copy()
    for j in range(k):
        y[:, :, j] /= r[:, j, j, None]
        y[:, :, j + 1 :] -= y[:, :, j, None] * r[:, None, j, j + 1 :]
    assert np.array_equal(linear_algebra.divided(b, r), y)
    assert close(y @ r, b)
    z = y.copy()
    for j in range(k - 1, -1, -1):
        z[:, :, j] /= r[:, j, j, None]
        z[:, :, :j] -= z[:, :, j, None] * r[:, None, :j, j]
    assert np.array_equal(linear_algebra.divided_transposed(y, r), z)
    assert close(z @ h, b)


@pytest.mark.parametrize(("k", "rows"), SYSTEMS)
def test_the_nearest_plane_has_the_bits_of_its_definition(k, rows):
    h, b = system(k, rows)
    r, steps = (
        linear_algebra.cholesky(h),
        0.1 + np.abs(np.random.default_rng(1).normal(size=b.shape)),
    )
    left, wanted = b.copy(), np.zeros_like(b)
    for j in range(k - 1, -1, -1):
        unit = steps[:, :, j]
        wanted[:, :, j] = np.clip(np.rint(left[:, :, j] / r[:, j, j, None] / unit), -7, 7)
        left[:, :, : j + 1] -= (wanted[:, :, j] * unit)[:, :, None] * r[:, None, : j + 1, j]
    assert np.array_equal(linear_algebra.nearest_plane(b, r, steps, 7), wanted)


@pytest.mark.parametrize("sweeps", [1, 8])
def test_descent_has_the_bits_of_its_definition(sweeps):
    h, b = system(23)
    steps = np.full(b.shape, 0.02)
    z = np.zeros(b.shape)
    gradient = -b
    found = linear_algebra.descend(z, gradient, h, steps, 7, sweeps)
    for _ in range(sweeps):
        for j in range(23):
            best = z[:, :, j] - gradient[:, :, j] / h[:, j, j, None] / steps[:, :, j]
            move = np.clip(np.rint(best), -7, 7) - z[:, :, j]
            z[:, :, j] += move
            gradient += (move * steps[:, :, j])[:, :, None] * h[:, None, j]
    assert np.array_equal(found[0], z) and np.array_equal(found[1], gradient)
    assert z.any()


@pytest.mark.parametrize("k", [1, 7, 8, 29])
@pytest.mark.parametrize(("limit", "weighed"), [(127, False), (7, True), (1, False)])
def test_scales_are_those_of_the_fractions_with_the_least_squared_error(k, limit, weighed):
    rng = np.random.default_rng(k)
    rows, counts = np.abs(rng.normal(size=(6, k))), rng.uniform(0.1, 2, (6, k))
    rows[3] = 0
    fractions, top = np.linspace(0.3, 1.1, 17), rows.max(axis=1) / limit
    found = linear_algebra.least_error_scales(
        rows, top, limit, fractions, counts if weighed else None
    )
    tried = top * fractions[:, None]
    steps = np.where(tried > 0, tried, 1.0)[:, :, None]
    error = (np.minimum(np.rint(rows / steps), limit) * steps - rows) ** 2
    errors = (error * (counts if weighed else 1.0)).sum(axis=2)
    best = errors[np.argmax(tried == found, axis=0), np.arange(6)]
    assert np.all((tried == found).any(axis=0)) and found[3] == 0
    assert np.allclose(best, errors.min(axis=0), rtol=1e-12, atol=0)

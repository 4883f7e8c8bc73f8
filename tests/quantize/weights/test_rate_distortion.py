"""Rounding with a price on bits: against every integer tried, and against none priced."""

import numpy as np
import pytest

from edgekit.toolkit.quantize.weights import gptq
from edgekit.toolkit.quantize.weights.rate_distortion import (
    LIMIT,
    MULTIPLIER_BITS,
    PRICE,
    Rate,
    RateProblem,
    coded_bytes,
)
from edgekit.toolkit.weight_codecs.huffman import Huffman, Storage, code_bits


def problem(groups, rows, k, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(groups, 4 * k, k)) @ rng.normal(size=(groups, k, k))
    h = x.swapaxes(1, 2) @ x / (4 * k) + 0.01 * np.eye(k)
    return rng.normal(size=(groups, rows, k)), h


def noise(w, z, h, scales):
    d = z * scales.reshape(*z.shape[:2], 1) - w
    return np.einsum("gnk,gkj,gnj->gn", d, h, d).sum()


def prices(scale=2.0):
    z = np.arange(-LIMIT, LIMIT + 1)
    return scale * np.log2(2 + np.abs(z)) + np.where(z % 3 == 0, 0.0, 0.3)


def test_each_priced_integer_is_the_cheapest_of_all_that_are_no_further_out():
    rng = np.random.default_rng(1)
    wanted, price = rng.normal(0, 6, size=(1, 40, 1)), prices()
    h, ones = np.full((1, 1, 1), 2.5), np.ones((1, 40, 1))
    got = gptq.Planes(wanted * h, h).nearest(ones, LIMIT, price).ravel()
    for w, z in zip(wanted.ravel(), got, strict=True):
        near = np.rint(w)
        tried = np.unique([0.0, *np.clip(near + np.arange(-4, 5), -LIMIT, LIMIT)])
        tried = tried[np.abs(tried) <= np.abs(near) + 1]
        tried = tried[np.abs(tried - near) <= 3]
        tried = np.append(tried, 0.0)
        cost = 2.5 * (tried - w) ** 2 + price[tried.astype(int) + LIMIT]
        assert 2.5 * (z - w) ** 2 + price[int(z) + LIMIT] == pytest.approx(cost.min())


def test_descent_lowers_noise_and_price_together():
    w, h = problem(1, 8, 20)
    ones, price = np.ones_like(w), prices()
    b = (6 * w) @ h
    z = gptq.nearest_plane(b, h, ones, LIMIT)

    def cost(z):
        return noise(6 * w, z, h, np.ones(8)) + price[z.astype(int) + LIMIT].sum()

    before = cost(z)
    vh = gptq.descend(z, b, h, ones, LIMIT, price)
    assert cost(z) < before
    np.testing.assert_allclose(vh, z @ h)
    for j in range(20):  # no single step gains
        for by in (-1, 1):
            moved = z.copy()
            moved[..., j] += by
            for row in range(8):
                one = z.copy()
                one[0, row] = moved[0, row]
                assert cost(one) > cost(z) - 1e-9


@pytest.mark.parametrize(("groups", "rows", "k"), [(1, 32, 40), (24, 1, 9)])
def test_a_price_buys_bytes_for_less_noise_than_coarser_steps(groups, rows, k):
    w, h = problem(groups, rows, k)
    top = np.abs(w).max(axis=2).reshape(-1)
    at = RateProblem(w @ h, h)

    def plain(levels):
        steps = top / levels
        unit = np.ones_like(w) * steps.reshape(groups, rows, 1)
        z = gptq.nearest_plane(w @ h, h, unit, LIMIT)
        gptq.descend(z, w @ h, h, unit, LIMIT)
        return coded_bytes(z), noise(w, z, h, steps)

    z, scales = at.solve(Rate(top / 10), np.zeros_like(top), 0.7)
    size, off = coded_bytes(z), noise(w, z, h, scales)
    sizes, offs = zip(*(plain(levels) for levels in np.geomspace(2, 20, 12)), strict=True)
    assert size < np.interp(off, offs[::-1], sizes[::-1])


def test_scales_make_multipliers_of_few_bits_and_keep_their_floor():
    w, h = problem(1, 16, 12)
    floor = np.full(16, 0.31)
    _, scales = RateProblem(w @ h, h).solve(Rate(np.full(16, 0.3)), floor, 0.0123)
    assert np.all(scales >= floor)
    fraction = np.frexp(scales * 0.0123)[0] * 2**MULTIPLIER_BITS
    np.testing.assert_allclose(fraction, np.rint(fraction), rtol=1e-12)


def test_bits_are_those_of_the_code():
    z = np.rint(np.random.default_rng(3).normal(0, 4, (64, 32))).astype(np.int8)
    bits = code_bits(z)[z.astype(int) + LIMIT].sum()
    coded = Huffman().encode(z, Storage("Huffman", 64), False).weights.size
    assert -(-bits // 8) == coded
    assert 0.1 < PRICE < 0.2  # 2 ln 2 / 12 where bits are many

"""One price of bytes for all layers: the cheapest rates within a noise."""

from itertools import product

import numpy as np
import pytest

from edgekit.toolkit.quantize.rates.database import Entry, _best, bytes_of, choose, noise_of
from edgekit.toolkit.quantize.weights.rate_distortion import Rate


def layers(seed, count=3):
    """Entries of layers whose noise grows fourfold for each bit less, with some off that line."""
    rng = np.random.default_rng(seed)
    found = {}
    for i in range(count):
        weights, noise = rng.integers(100, 5000), 10 ** rng.uniform(-7, -4)
        entries = [
            Entry(Rate(np.array([b])), weights * b * rng.uniform(0.9, 1.2), noise * 4.0 ** (8 - b))
            for b in np.linspace(2, 8, 8)
        ]
        found[f"layer{i}"] = _best(entries)
    return found


@pytest.mark.parametrize("seed", range(4))
def test_a_layer_keeps_what_no_mix_of_others_beats(seed):
    for layer in layers(seed).values():
        sizes, noises = [e.size for e in layer], [e.noise for e in layer]
        assert sizes == sorted(sizes, reverse=True)
        assert noises == sorted(noises)
        slopes = np.diff(sizes) / np.diff(noises)
        assert np.all(np.diff(slopes) > 0)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("noise", [1e-4, 1e-3, 1e-2])
def test_no_choice_that_makes_as_little_noise_takes_fewer_bytes(seed, noise):
    found = layers(seed)
    taken = list(choose(found, noise).values())
    made = sum(e.noise for e in taken)
    assert made <= noise or all(layer[0] in taken for layer in found.values())
    for others in product(*found.values()):
        if sum(e.noise for e in others) <= made:
            assert sum(e.size for e in others) >= sum(e.size for e in taken) - 1e-6


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("part", [0.3, 0.6, 0.9])
def test_no_choice_that_takes_as_few_bytes_makes_less_noise(seed, part):
    found = layers(seed)
    low, high = (sum(layer[i].size for layer in found.values()) for i in (-1, 0))
    limit = low + part * (high - low)
    taken = choose(found, size=limit)
    assert bytes_of(taken) <= limit
    for others in product(*found.values()):
        if sum(e.size for e in others) <= bytes_of(taken):
            assert sum(e.noise for e in others) >= noise_of(taken) * (1 - 1e-9)

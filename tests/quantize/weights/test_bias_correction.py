"""The mean that is taken out of a bias is that of the outputs, by brute force in numpy."""

from __future__ import annotations

import numpy as np
import pytest

from edgekit.toolkit.ir import Node
from edgekit.toolkit.quantize.weights.bias_correction import mean_output


def transposed(x, weight, stride, groups):
    """x [h, w, c] through a transposed convolution by weight [o, kh, kw, c / groups], uncropped."""
    (h, w, c), (o, kh, kw, _) = x.shape, weight.shape
    (sh, sw), part = stride, c // groups
    y = np.zeros((h * sh + kh, w * sw + kw, o))
    for n in range(o):
        group = n // (o // groups)
        mine = x[..., group * part : (group + 1) * part]
        for i in range(h):
            for j in range(w):
                y[i * sh : i * sh + kh, j * sw : j * sw + kw, n] += weight[n] @ mine[i, j]
    return y


@pytest.mark.parametrize("kernel, stride", [((4, 4), (2, 2)), ((3, 3), (2, 2)), ((3, 5), (3, 2))])
@pytest.mark.parametrize("groups", [1, 2])
def test_of_a_transposed_convolution_each_output_meets_the_taps_of_its_phase(
    kernel, stride, groups
):
    rng = np.random.default_rng(8)
    weight, means = rng.normal(size=(4, *kernel, 6 // groups)), rng.normal(size=6)
    node = Node("ConvTranspose2d", [], [], {"stride": stride, "groups": groups})
    y = transposed(np.tile(means, (9, 9, 1)), weight, stride, groups)
    inside = y[3 * stride[0] : 6 * stride[0], 3 * stride[1] : 6 * stride[1]]
    np.testing.assert_allclose(mean_output(node, weight, means), inside.mean(axis=(0, 1)))


@pytest.mark.parametrize("groups", [1, 2])
def test_of_a_convolution_each_output_meets_all_taps(groups):
    rng = np.random.default_rng(9)
    weight, means = rng.normal(size=(4, 3, 3, 6 // groups)), rng.normal(size=6)
    parts = np.split(means, groups)
    expected = [np.sum(w * parts[n // (4 // groups)]) for n, w in enumerate(weight)]
    node = Node("Conv2d", [], [], {"stride": (2, 2), "groups": groups})
    np.testing.assert_allclose(mean_output(node, weight, means), expected)

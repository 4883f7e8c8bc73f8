"""Matrices that resize keep their gain: a flat image stays flat."""

from __future__ import annotations

import numpy as np
import pytest

from edgekit.toolkit.numerics import INT8, INT16
from edgekit.toolkit.ops.move._filters import cubic, matrix
from edgekit.toolkit.quantize import quantize_graph
from edgekit.toolkit.quantize.scheme.line_sums import dividing_params, line_axis, rounded_lines


def bicubic(size=12, scale=2):
    places = (np.arange(size * scale) + 0.5) / scale - 0.5
    return matrix(places, size, cubic(-0.75), 2, 1.0, False).astype(np.float32)


@pytest.mark.parametrize("dtype", [INT8, INT16])
@pytest.mark.parametrize("axis", [0, 1])
def test_lines_keep_their_sum(dtype, axis):
    x = bicubic() if axis else bicubic().T
    q = dividing_params(x, axis, dtype)
    made = (rounded_lines(x, axis, q).astype(np.float64) - q.zero_point) * q.scalar
    np.testing.assert_allclose(made.sum(axis=axis), 1, atol=1e-6)
    assert np.abs(made - x).max() < q.scalar and np.all(made[x == 0] == 0)


def test_a_flat_image_stays_flat(g):
    x = g.input("x", 1, 12, 3)
    y = g.emit("MatMul", g.const(bicubic()[None]), x, transpose_b=False, name="y")
    made, _ = quantize_graph(g.output(y), {"x": (-1.0, 1.0), "y": (-1.0, 1.0)})
    (node,) = (n for n in made.nodes if n.op == "MatMul")
    w = node.input(0)
    assert w.const is not None and w.quant is not None
    gains = (w.const.astype(np.int64) - w.quant.zero_point).sum(axis=-1) * w.quant.scalar
    np.testing.assert_allclose(gains, 1, atol=1e-6)


def test_other_constants_are_rounded_to_the_nearest(g):
    x = g.input("x", 1, 12, 3)
    w = np.random.default_rng(0).normal(size=(1, 5, 12)).astype(np.float32)
    for values in (w, w - w.mean(axis=-1, keepdims=True)):
        g.emit("MatMul", g.const(values), x, transpose_b=False)
        node = g.graph.nodes[-1]
        assert line_axis(node, node.input(0)) is None

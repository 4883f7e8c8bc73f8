"""Layers that share weights in the float model share them in the file."""

from __future__ import annotations

import numpy as np
import pytest

from edgekit.toolkit.build import build_file
from edgekit.toolkit.quantize import quantize_model
from edgekit.toolkit.quantize.scheme.shared_weights import sharing_weights

PLAIN = {"stride": (1, 1), "dilation": (1, 1), "groups": 1, "pads": (1,) * 4}


@pytest.fixture
def net(g):
    """Nine convolutions on one kernel, whose tensors have very different scales."""
    x = g.conv(g.input("x", 1, 8, 8, 3), 16, act_min=0.0, name="first")
    kernel = g.rng.normal(size=(16, 3, 3, 16)) / 5
    for i in range(9):
        bias = g.const(g.rng.normal(size=16) * 0.1)
        x = g.emit("Conv2d", x, g.const(kernel.copy()), bias, name=f"c{i}",
                   act_min=0.0, act_max=np.inf, **PLAIN)  # fmt: skip
    return g.output(g.conv(x, 4, name="last"))


def test_layers_with_equal_weights_are_found(net):
    assert {n.name for n in sharing_weights(net)} == {f"c{i}" for i in range(9)}


@pytest.mark.parametrize("rounding", ["gptq", "adaround"])
def test_they_keep_one_kernel(net, rounding):
    rng = np.random.default_rng(3)
    samples = [{"x": rng.normal(size=(1, 8, 8, 3)).astype(np.float32)} for _ in range(16)]
    done = quantize_model(net, samples, "minmax", rounding=rounding)
    made = {n.output.name: n.input(1) for n in done.graph.nodes if n.op == "Conv2d"}
    kernels = {made[f"c{i}"].const.tobytes() for i in range(9)}
    assert len(kernels) == 1
    assert len(build_file(done.graph)) < 9 * 16 * 16 * 9
    assert done.plan.has_rounded  # the others are rounded for what they make

"""Pad: ONNX's node cases, onnxruntime, and numpy on every kernel table."""

from __future__ import annotations

import numpy as np
import pytest

from edgekit.toolkit.ir import QuantParams
from edgekit.toolkit.ops import definition

BACKEND_OPS = {"Pad"}
PARAMETERS = {"Pad": 1}

WIDTHS = [
    ((1, 0, 2, 0), (0, 1, 1, 3)),
    ((0, 0, 0, 0), (0, 0, 0, 1)),
    ((0, 3, 2, 0), (0, 1, 2, 0)),
    ((1, 0, 0, 0), (1, 0, 0, 0)),
]


def test_backend(backend_case):
    backend_case.check()


@pytest.mark.parametrize("mode", ["constant", "reflect", "edge"])
@pytest.mark.parametrize(("before", "after"), WIDTHS)
def test_borders_are_numpys(integers, mode, before, after):
    attrs = {"before": before, "after": after, "mode": mode, "value": 0.5}
    x = integers.value((2, 4, 5, 4), 0.05, -30)
    integers.agree(integers.node("Pad", [x], **attrs))


@pytest.mark.parametrize("mode", ["constant", "reflect", "edge", "wrap"])
@pytest.mark.parametrize(("before", "after"), WIDTHS)
def test_float_borders_are_onnxruntimes(run_onnx, mode, before, after):
    x = np.random.default_rng(0).normal(size=(2, 4, 5, 4)).astype(np.float32)
    pads = np.array([*before, *after], np.int64)
    value = {"value": np.array(-1.5, np.float32)} if mode == "constant" else {}
    run_onnx("Pad", {"x": x}, {"pads": pads, **value}, mode=mode).agree(rtol=0)


def test_a_tensor_is_repeated_more_than_once(run_onnx):
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    pads = np.array([5, 1, 0, 8], np.int64)
    run_onnx("Pad", {"x": x}, {"pads": pads}, mode="wrap").agree(rtol=0)


def test_negative_widths_cut(run_onnx):
    x = np.arange(20, dtype=np.float32).reshape(4, 5)
    run_onnx("Pad", {"x": x}, {"pads": np.array([-1, 2, 1, -3])}).agree(rtol=0)


def test_a_border_is_the_quantized_value(integers):
    x = integers.value((3,), 0.1, 20)
    for value, want in [(2.0, 40), (99.0, 127)]:
        node = integers.node("Pad", [x], before=(1,), after=(1,), mode="constant", value=value)
        q = integers.agree(node)
        assert q[0] == q[-1] == want


def test_axes_without_padding_are_merged(integers):
    x = integers.value((2, 3, 4, 5, 6, 7))
    attrs = {"before": (0, 1, 0, 0, 2, 0), "after": (0, 0, 0, 0, 0, 0), "value": 0.0}
    for mode in ("constant", "reflect"):
        node = integers.node("Pad", [x], QuantParams((0.05,)), mode=mode, **attrs)
        if mode == "constant":
            integers.agree(node)
        assert (definition("Pad").integer_problem(node) is None) == (mode == "constant")

"""DFT and STFT against numpy's transforms, and operators that ONNX defines as functions."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import helper

from edgekit.toolkit.build import build_file
from edgekit.toolkit.onnx_import import load
from edgekit.toolkit.runtime import Session

RNG = np.random.default_rng(0)


def run(op, feed, constants, shape, **attrs):
    code = helper.np_dtype_to_tensor_dtype
    node = helper.make_node(op, [*feed, *constants], ["y"], **attrs)
    ports = [helper.make_tensor_value_info(n, code(a.dtype), a.shape) for n, a in feed.items()]
    out = helper.make_tensor_value_info("y", 1, shape)
    given = [helper.make_tensor(n, code(a.dtype), a.shape, a.ravel()) for n, a in constants.items()
             if n]  # fmt: skip
    graph = helper.make_graph([node], "g", ports, [out], given)
    opsets = [helper.make_opsetid("", 20)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=10)
    return Session(build_file(load(model))).run(feed)["y"]


def parts(z):
    return np.stack([z.real, z.imag], -1).astype(np.float32)


@pytest.mark.parametrize("n", [1, 2, 7, 16, 60])
@pytest.mark.parametrize("axis", [1, 2])
@pytest.mark.parametrize("inverse", [0, 1])
def test_complex_transforms_are_numpys(n, axis, inverse):
    z = RNG.normal(size=(2, n, n)) + 1j * RNG.normal(size=(2, n, n))
    x = {"x": parts(z)}
    constants = {"": np.zeros(0), "axis": np.array(axis)}
    found = run("DFT", x, constants, x["x"].shape, inverse=inverse)
    want = parts((np.fft.ifft if inverse else np.fft.fft)(z, axis=axis))
    np.testing.assert_allclose(found, want, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("points", [5, 12, 16, 20])
def test_real_transforms_are_numpys(points):
    x = RNG.normal(size=(3, 16)).astype(np.float32)
    constants = {"n": np.array(points), "axis": np.array(1)}
    want = parts(np.fft.rfft(x, points))
    found = run("DFT", {"x": x[..., None]}, constants, want.shape, onesided=1)
    np.testing.assert_allclose(found, want, rtol=1e-4, atol=1e-4)
    back = run("DFT", {"x": want}, constants, (3, points, 1), onesided=1, inverse=1)
    np.testing.assert_allclose(
        back[..., 0], np.fft.irfft(np.fft.rfft(x, points), points), 1e-4, 1e-4
    )


@pytest.mark.parametrize("step", [3, 8])
@pytest.mark.parametrize("onesided", [0, 1])
@pytest.mark.parametrize("computed", [False, True])
@pytest.mark.parametrize("axes", [2, 3])
def test_frames_are_transformed(step, onesided, computed, axes):
    x = RNG.normal(size=(2, 50, 1)).astype(np.float32)
    window = np.hanning(16).astype(np.float32)
    frames = np.stack([x[:, i : i + 16, 0] * window for i in range(0, 50 - 15, step)], 1)
    want = parts((np.fft.rfft if onesided else np.fft.fft)(frames))
    steps = {"s": np.array(step)}
    feed, constants = {"x": x if axes == 3 else x[..., 0]}, steps | {"w": window}
    if computed:
        feed, constants = feed | steps, {"w": window}
    found = run("STFT", feed, constants, want.shape, onesided=onesided)
    np.testing.assert_allclose(found, want, rtol=1e-4, atol=1e-4)


def test_a_signal_without_window_or_length_is_one_frame():
    x = RNG.normal(size=(2, 18)).astype(np.float32)
    want = parts(np.fft.rfft(x))[:, None]
    found = run("STFT", {"x": x}, {"s": np.array(5)}, want.shape)
    np.testing.assert_allclose(found, want, rtol=1e-4, atol=1e-4)

"""Rounding in threads, and with the threads of a BLAS: the same weights."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

from edgekit.toolkit.quantize import calibrate, optimize
from edgekit.toolkit.quantize.reconstruction.layer_rounding import round_by_halves
from edgekit.toolkit.quantize.scheme.options import METHODS


@pytest.fixture
def net(g):
    x = g.input("x", 1, 8, 8, 8)
    a = g.conv(x, 16, name="a", act_min=0.0)
    b = g.conv(a, 16, groups=16, name="b", stride=(2, 2), act_min=0.0, act_max=6.0)
    return g.output(g.conv(b, 24, groups=2, kernel=1, name="c", pads=(0, 0, 0, 0)))


@pytest.mark.parametrize("method", METHODS)
def test_threads_round_as_one_does(net, monkeypatch, method):
    random = np.random.default_rng(5)
    samples = [{"x": random.normal(size=(1, 8, 8, 8)).astype(np.float32)} for _ in range(32)]
    done = optimize(net, calibrate(net, samples), "minmax", rounding="nearest")
    feeds, found = [s.inputs for s in done.calibration.kept], []
    monkeypatch.setattr(sys.modules[round_by_halves.__module__], "SHARED", 0)
    for count in (1, 4):
        monkeypatch.setattr(
            os, "sched_getaffinity", lambda _, n=count: set(range(n)), raising=False
        )
        whole, halves = round_by_halves(done.plan, done.ranges, feeds, method=method)
        found.append([whole, *halves])
    assert found[0][0]
    for alone, shared in zip(*found, strict=True):
        assert alone.keys() == shared.keys()
        for key, rounded in alone.items():
            assert np.array_equal(rounded.z, shared[key].z)
            assert np.array_equal(rounded.bias, shared[key].bias)


PROGRAM = """
import hashlib, sys
from edgekit.toolkit import pipeline
for rounding in sys.argv[4:]:
    pipeline.quantize(sys.argv[1], sys.argv[2], sys.argv[3], weights="int4", rounding=rounding,
        limit=16)
    print(rounding, hashlib.sha256(open(sys.argv[3], "rb").read()).hexdigest())
"""


def test_the_same_bytes_whatever_the_threads(digits, tmp_path):
    told = set()
    for threads in ("1", "2", "5"):
        env = {**os.environ, "OPENBLAS_NUM_THREADS": threads, "OMP_NUM_THREADS": threads}
        words = [sys.executable, "-c", PROGRAM, digits / "digits.onnx", digits / "calib.npz"]
        done = subprocess.run(
            [*map(str, words), str(tmp_path / "d.edge"), *METHODS],
            env=env,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        lines = done.stdout.splitlines()[-len(METHODS) :]
        assert [line.split()[0] for line in lines] == list(METHODS)
        told.add(tuple(lines))
    assert len(told) == 1

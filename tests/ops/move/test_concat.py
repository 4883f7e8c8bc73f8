"""Concat: ONNX's node cases and bytes moved along every axis."""

from __future__ import annotations

import numpy as np
import pytest

BACKEND_OPS = {"Concat"}


def test_backend(backend_case):
    backend_case.check()


@pytest.mark.parametrize("axis", range(4))
def test_bytes_go_one_behind_the_other(integers, axis):
    shape = (2, 3, 4, 5)
    parts = [(*shape[:axis], n, *shape[axis + 1 :]) for n in (1, 6, 2)]
    inputs = [integers.value(s) for s in parts]
    inputs[1:1] = [integers.const(parts[1])]
    integers.agree(integers.node("Concat", inputs, axis=axis))


def test_a_value_may_come_twice(integers):
    x = integers.value((3, 4))
    integers.agree(integers.node("Concat", [x, x], axis=1))


def test_many_inputs_are_joined_in_groups(run_onnx):
    feed = {f"x{i}": np.full((2, 1), i, np.float32) for i in range(300)}
    run_onnx("Concat", feed, axis=-1).agree(rtol=0)

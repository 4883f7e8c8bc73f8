"""Median of neighbours along the last axis, which takes spikes off a signal."""

import numpy as np

from edgekit import CustomOp


class Median(CustomOp):
    domain = "example"
    op_type = "Median"
    attributes = {"radius": ("I", 1)}  # noqa: RUF012
    integers = ("int8", "int16")
    same_scale = True

    def infer(self, call):
        x = call.input(0)
        if call.attributes["radius"] not in (1, 2, 3):
            raise ValueError(f"radius {call.attributes['radius']}; there are 1 to 3")
        return [(x.dtype, x.shape)]

    def compute(self, call, x):
        r = call.attributes["radius"]
        padded = np.pad(x, [(0, 0)] * (x.ndim - 1) + [(r, r)], mode="edge")
        windows = np.lib.stride_tricks.sliding_window_view(padded, 2 * r + 1, axis=-1)
        return np.sort(windows, axis=-1)[..., r]

    def integer(self, call, x):
        return self.compute(call, x)  # it selects an element, whatever the scale is

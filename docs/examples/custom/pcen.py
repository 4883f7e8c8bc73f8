"""Per-channel energy normalization of a spectrogram [..., frames, channels], as keyword spotters
and bird detectors use it (Wang and others: Trainable Frontend, 2016):

    m[t] = (1 - smooth) * m[t - 1] + smooth * x[t]
    y = (x / (floor + m)^gain + bias)^power - bias^power
"""

import numpy as np

from edgekit import CustomOp


class PCEN(CustomOp):
    domain = "example"
    op_type = "PCEN"
    attributes = {  # noqa: RUF012
        "smooth": ("f", 0.025), "gain": ("f", 0.98), "bias": ("f", 2.0), "power": ("f", 0.5),
        "floor": ("f", 1e-6),
    }  # fmt: skip

    def infer(self, call):
        x = call.input(0)
        if x.dtype != np.float32 or len(x.shape) < 2:
            raise ValueError(f"PCEN takes float32 [..., frames, channels], not {x.dtype} {x.shape}")
        return [(np.float32, x.shape)]

    def compute(self, call, x):
        a = call.attributes
        x = x.astype(np.float64)
        mean = np.empty_like(x)
        mean[..., 0, :] = x[..., 0, :]
        for t in range(1, x.shape[-2]):
            mean[..., t, :] = (1 - a["smooth"]) * mean[..., t - 1, :] + a["smooth"] * x[..., t, :]
        y = x / (a["floor"] + mean) ** a["gain"] + a["bias"]
        return (y ** a["power"] - a["bias"] ** a["power"]).astype(np.float32)

    def scratch(self, call):
        return 4 * call.input(0).shape[-1]  # the mean of each channel

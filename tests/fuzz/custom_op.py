"""What custom_op.c does."""

import numpy as np

from edgekit import CustomOp


class Mix(CustomOp):
    """All elements but the first `keep` in the opposite order, and none below a limit."""

    domain = "test"
    op_type = "Mix"
    version = 3
    attributes = {"keep": ("I", 0), "lowest": ("2i", [-100, -50])}  # noqa: RUF012
    integers = ("int8", "int16")
    same_scale = True

    def infer(self, call):
        x = call.input(0)
        return [(x.dtype, x.shape)]

    def compute(self, call, x, limits=None):
        line, keep = x.ravel(), call.attributes["keep"]
        mixed = np.concatenate([line[:keep], line[::-1][keep:]])
        lowest = call.attributes["lowest"][int(x.dtype == np.int16)]
        if limits is not None:
            lowest = np.resize(limits.ravel(), line.size)
        return np.maximum(mixed, np.clip(lowest, -128, 127).astype(x.dtype)).reshape(x.shape)

    def integer(self, call, x, limits=None):
        return self.compute(call, x, limits)

    def scratch(self, call):
        return 2 * int(np.prod(call.input(0).shape))

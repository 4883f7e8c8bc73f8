"""How much time and memory the import of one model may take."""

from __future__ import annotations

MIB = 1 << 20

FILE_BYTES = 2048 * MIB
"""An ONNX file without its external data: protobuf reads no more."""

WEIGHT_BYTES = 4096 * MIB
"""All tensors of a model, external data included: an .edge file holds no more."""

TENSOR_ELEMENTS = 1 << 28
"""Elements of one tensor."""

MAX_RANK = 8
"""Axes of a tensor that the runtime opens."""

LARGE_TENSOR = 4096
"""Bytes from which an initializer is kept outside the ModelProto: no shape is that long."""

CHILD_BYTES = 4096 * MIB
"""Address space of the process that runs onnx."""

CHILD_SECONDS = 60.0
"""Time that onnx may take for one model, all its steps together."""

FOLDED_BYTES = 256 * MIB
"""All folded constants of a model, unless the model itself is large."""

FOLDED_RATIO = 16
"""Bytes of folded constants for each byte of the model."""

MOST_FOLDED = FOLDED_BYTES // 4
"""Elements that one folded constant may have."""

"""Each test draws the same numbers."""

from ..onnx_import.conftest import same_numbers

__all__ = ["same_numbers"]

"""Operators of ONNX that are built of operators of the IR."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ...ir import Value
from .._opdef import Builder, OnnxNode

Build = Callable[[Builder, OnnxNode], list[Value]]


@dataclass(frozen=True)
class Composite:
    """An ONNX operator that becomes several of the IR.

    onnx   its name
    of     the IR operator that does most of the work
    build  emits them; raises Unsupported to refuse
    note   what is read
    """

    onnx: str
    of: str
    build: Build
    note: str

    def from_onnx(self, b: Builder, node: OnnxNode) -> list[Value]:
        return self.build(b, node)

"""Tensors stored as float16, computed in float32: half the memory and half the file."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from .errors import UserError
from .ir import Graph, Node, TensorType, Value, constant
from .numerics import BY_ONNX, FLOAT, HALF, DType
from .ops import definition
from .ops.convert.cast import Cast
from .verify import verify


class _Halving:
    """Rewrites one float32 graph. `forms` are what stands for a value, by element type."""

    def __init__(self, graph: Graph) -> None:
        self.graph, self.made = graph, Graph(notes=graph.notes)
        self.forms: dict[Value, dict[DType, Value]] = {}
        self.readers = graph.consumers()
        self.outputs = graph.output_values()

    def run(self) -> Graph:
        for port in self.graph.inputs:
            held = HALF if BY_ONNX[port.onnx_dtype].numpy == HALF else port.value.dtype
            value = self._define(port.value, held)
            self.made.inputs.append(replace(port, value=value))
        for node in self.graph.nodes:
            self._convert(node)
        for port in self.graph.outputs:
            held = HALF if BY_ONNX[port.onnx_dtype].numpy == HALF else port.value.dtype
            value = self._as(port.value, held)
            self.made.outputs.append(replace(port, value=value))
        verify(self.made, "float16")
        return self.made

    def _define(self, v: Value, dtype: DType) -> Value:
        made = Value(v.name, TensorType(dtype, v.shape))
        self.forms[v] = {dtype: made}
        return made

    def _as(self, v: Value, dtype: DType) -> Value:
        """`v` in an element type, cast where it is made in another."""
        if v.const is not None:
            return v if v.dtype == dtype else constant(_halved(v), v.name)
        forms = self.forms[v]
        if dtype not in forms:
            source = next(iter(forms.values()))
            name = f"{v.name}.{dtype}"
            forms[dtype] = Value(name, TensorType(dtype, v.shape))
            self.made.nodes.append(Node(Cast.name, [source], [forms[dtype]], {"to": dtype}, name))
        return forms[dtype]

    def _convert(self, node: Node) -> None:
        op = definition(node.op)
        half = HALF in op.reals
        inputs: list[Value | None] = [
            v
            if v is None or i == op.bias
            else self._as(v, HALF if half and v.dtype == FLOAT else v.dtype)
            for i, v in enumerate(node.inputs)
        ]
        outputs = [
            self._define(v, HALF if half and v.dtype == FLOAT else v.dtype) for v in node.outputs
        ]
        self.made.nodes.append(Node(node.op, inputs, outputs, dict(node.attrs), node.name))
        if not half:
            for v in node.outputs:
                self._store(v)

    def _store(self, v: Value) -> None:
        """Keep what float32 made as float16, but for what goes on in float32 at once."""
        readers = self.readers.get(v, [])
        goes_on = len(readers) == 1 and HALF not in definition(readers[0].op).reals
        if v.dtype == FLOAT and readers and not goes_on:
            stored = self._as(v, HALF)
            self.forms[v] = {HALF: stored}


def _halved(v: Value) -> np.ndarray[tuple[int, ...], np.dtype[np.float16]]:
    """A constant as float16. Raises UserError for values beyond it."""
    assert v.const is not None
    with np.errstate(over="ignore"):
        half = v.const.astype(np.float16)
    beyond = np.isfinite(v.const) & ~np.isfinite(half)
    if np.any(beyond):
        raise UserError(
            f"constant '{v.name}' holds {v.const[beyond].flat[0]:.6g}, beyond float16's 65504; "
            "convert the model without --float16"
        )
    return half


def halved(graph: Graph) -> Graph:
    """The graph with float32 tensors stored as float16, inputs and outputs in their own types.

    Operators that have no float16 form (OpDef.reals) run in float32 between casts. Raises UserError
    for constants beyond float16.
    """
    return _Halving(graph).run()

"""ONNX -> Graph: the only place that reads ONNX."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import onnx

from ..ir import Graph
from .constant_inputs import Values, fix_constant_inputs
from .functions import inline_functions
from .importer import Importer
from .shapes import fix_input_shapes
from .source import read_model

__all__ = ["input_names", "load"]


def input_names(source: str | Path | bytes | onnx.ModelProto) -> set[str]:
    """The inputs that a user feeds. Raises UserError for what is not a valid model."""
    return {info.name for info in read_model(source).real_inputs()}


def load(
    source: str | Path | bytes | onnx.ModelProto,
    shapes: Mapping[str, Sequence[int]] | None = None,
    arrays: Mapping[str, Sequence[int]] | None = None,
    constants: Values | None = None,
) -> Graph:
    """The float graph of an ONNX model: a file, its bytes, or a ModelProto.

    `shapes` gives inputs whose dimensions are not in the model; a symbol that is only ever a first
    axis is the batch and becomes 1, which the graph's `notes` say. What is still open comes from
    `arrays`, the shapes of arrays of samples by input name. `constants` are values of inputs that
    are not to be fed. Activations of spatial operators
    are NHWC between Transposes; `passes.DEFAULT` removes these. Ports keep the ONNX names, element
    types and layouts. `source` is not changed.

    Raises UserError for what is not a valid model, has no static shapes, or takes more time or
    memory than `limits` allow, and UnsupportedError with every node that cannot be served.
    """
    model = read_model(source)
    constant = fix_constant_inputs(model, constants or {})
    inputs = fix_input_shapes(model, shapes or {}, arrays)
    inline_functions(model)
    graph = Importer(model).run(inputs)
    graph.constant_inputs = constant
    return graph

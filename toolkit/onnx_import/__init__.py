"""ONNX -> Graph: the only place that reads ONNX."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import onnx

from ..ir import Graph
from .constant_inputs import Values, fix_constant_inputs
from .functions import inline_functions
from .importer import Importer
from .shapes import fix_input_shapes, symbolic_dims
from .source import read_model, refuse_edge

__all__ = ["input_dims", "input_names", "load", "refuse_edge"]


def input_names(source: str | Path | bytes | onnx.ModelProto) -> set[str]:
    """The inputs that a user feeds. Raises UserError for what is not a valid model."""
    return {info.name for info in read_model(source).real_inputs()}


def input_dims(source: str | Path | bytes | onnx.ModelProto) -> dict[str, list[int | str] | None]:
    """Of each input that a user feeds, its dimensions: a number, the name of a symbol, or "" where
    it has none; None without a shape. Raises UserError for what is not a valid model."""
    return symbolic_dims(read_model(source))


def load(
    source: str | Path | bytes | onnx.ModelProto,
    shapes: Mapping[str, Sequence[int]] | None = None,
    arrays: Mapping[str, Sequence[int]] | None = None,
    constants: Values | None = None,
    dims: Mapping[str, int] | None = None,
    lazily: bool = True,
) -> Graph:
    """The float graph of an ONNX model: a file, its bytes, or a ModelProto.

    `shapes` gives inputs whose dimensions are not in the model; a symbol that is only ever a first
    axis is the batch and becomes 1, which the graph's `notes` say. What is still open comes from
    `arrays`, the shapes of arrays of samples by input name. `constants` are values of inputs that
    are not to be fed, `dims` sizes of symbolic dimensions by name. Unless `lazily`, branches and
    loops become graphs inside of nodes only where nothing else serves. Activations of spatial
    operators are NHWC between Transposes; `passes.DEFAULT` removes these. Ports keep the ONNX
    names, element types and layouts. `source` is not changed.

    Raises UserError for what is not a valid model, has no static shapes, or takes more time or
    memory than `limits` allow, and UnsupportedError with every node that cannot be served.
    """
    model = read_model(source)
    constant = fix_constant_inputs(model, constants or {})
    inputs = fix_input_shapes(model, shapes or {}, arrays, dims)
    inline_functions(model)
    graph = Importer(model, lazily).run(inputs)
    graph.constant_inputs = constant
    return graph

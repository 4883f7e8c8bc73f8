"""What onnx does not survive being asked, refused before."""

from __future__ import annotations

from collections.abc import Iterator

import onnx

from ..errors import UserError
from .onnx_process import OnnxError
from .refusals import display_name
from .source import OnnxModel

Scopes = tuple[onnx.GraphProto, ...]
"""A graph, and those around it."""


def refuse_layer_norm_axes(model: OnnxModel) -> None:
    """Raises UserError for a LayerNormalization of several outputs whose axis its input has not.

    onnx 1.23 infers the shape of its outputs Mean and InvStdDev by writing at that axis, wherever
    it points. So it is asked for ranks without those outputs, until no axis is left to prove: where
    a rank stays unknown, it writes nothing.
    """
    proto = model.proto
    unproved = [n.output[0] for _, n in _layer_norms((proto.graph,)) if len(n.output) > 1]
    while unproved:
        asked = onnx.ModelProto()
        asked.CopyFrom(proto)
        for _, node in _layer_norms((asked.graph,)):
            if node.output[0] in unproved:
                del node.output[1:]
        try:
            asked = model.engine.infer_shapes(asked)
        except OnnxError:
            return  # whoever asks again learns as little
        proved = [
            node.output[0]
            for scopes, node in _layer_norms((asked.graph,))
            if node.output[0] in unproved and _is_proved(model.label, scopes, node)
        ]
        if not proved:
            return
        unproved = [name for name in unproved if name not in proved]


def _layer_norms(scopes: Scopes) -> Iterator[tuple[Scopes, onnx.NodeProto]]:
    for node in scopes[0].node:
        if node.op_type == "LayerNormalization" and not node.domain and node.output:
            yield scopes, node
        for a in node.attribute:
            for inner in (*([a.g] if a.HasField("g") else []), *a.graphs):
                yield from _layer_norms((inner, *scopes))


def _is_proved(label: str, scopes: Scopes, node: onnx.NodeProto) -> bool:
    """Whether the rank is known, and so the axis good. Raises UserError if it is not."""
    rank = _rank(scopes, node.input[0]) if node.input else None
    if rank is None:
        return False
    axis = next((a.i for a in node.attribute if a.name == "axis"), -1)
    if not -rank <= axis < rank:
        raise UserError(
            f"{label}: LayerNormalization '{display_name(node)}': axis {axis} is outside its input "
            f"of rank {rank}; export the model again"
        )
    return True


def _rank(scopes: Scopes, name: str) -> int | None:
    for graph in scopes:
        for t in graph.initializer:
            if t.name == name:
                return len(t.dims)
        for v in (*graph.input, *graph.value_info, *graph.output):
            if v.name == name and v.type.tensor_type.HasField("shape"):
                return len(v.type.tensor_type.shape.dim)
    return None

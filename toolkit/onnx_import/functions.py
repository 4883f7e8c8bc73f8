"""Functions -> the nodes they stand for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import onnx

from ..errors import UserError
from ..ops import FROM_ONNX
from .attributes import qualified
from .hazards import refuse_layer_norm_axes
from .onnx_process import OnnxError
from .source import OnnxModel
from .subgraphs import all_nodes

_KNOWN_WHEN_SHAPES_ARE = {"Constant", "Shape", "Size", "ConstantOfShape", "Range", "If", "Scan"}
_NESTED = 8
"""Functions inside of functions that are expanded."""
_ANY_TENSOR = onnx.helper.make_tensor_type_proto(onnx.TensorProto.FLOAT, [])


def inline_functions(model: OnnxModel) -> None:
    """Replace the model's own functions, and operators that we lack and that ONNX defines as
    functions of operators that we have. Raises UserError when a function cannot be inlined.
    """
    proto = model.proto
    if proto.functions:
        defaults = {(f.domain, f.name): list(f.attribute_proto) for f in proto.functions}
        for nodes in (proto.graph.node, *(f.node for f in proto.functions)):
            _spell_out(nodes, defaults)
        _share_opsets(proto)
        try:
            proto = model.proto = model.engine.inline(proto)
        except OnnxError as why:
            raise UserError(f"{model.label}: its functions cannot be inlined: {why}") from why
    refuse_layer_norm_axes(model)
    opsets = {"" if o.domain == "ai.onnx" else o.domain: o.version for o in proto.opset_import}
    for op in sorted({qualified(n) for n in proto.graph.node if _is_expandable(n, opsets)}):
        before = {qualified(n) for n in model.proto.graph.node}
        expanded = _expand(model, model.proto, op, opsets)
        for _ in range(_NESTED):
            if expanded is None:
                break
            new = {qualified(n) for n in expanded.graph.node if _is_expandable(n, opsets)} - before
            if not new:
                break
            expanded = _expand(model, expanded, min(new), opsets)
        if expanded is not None and all(
            name in before or name in FROM_ONNX or name in _KNOWN_WHEN_SHAPES_ARE
            for name in (qualified(n) for n in expanded.graph.node)
        ):
            model.proto = expanded


def _share_opsets(proto: onnx.ModelProto) -> None:
    """Give functions the model's opset where it defines their operators alike: the inliner would
    convert them, which fails on inputs of unknown types."""
    versions = {o.domain: o.version for o in proto.opset_import}
    for function in proto.functions:
        nodes = list(all_nodes(function.node))
        for opset in function.opset_import:
            theirs = versions.get(opset.domain, opset.version)
            used = {n.op_type for n in nodes if n.domain == opset.domain}
            if all(_is_same(op, opset.domain, opset.version, theirs) for op in used):
                opset.version = theirs


def _is_same(op: str, domain: str, one: int, other: int) -> bool:
    """Whether both opsets define an operator, and alike."""
    try:
        found = [onnx.defs.get_schema(op, v, domain).since_version for v in (one, other)]
    except onnx.defs.SchemaError:
        return False
    return bool(found[0] == found[1])


def _is_expandable(node: onnx.NodeProto, opsets: dict[str, int]) -> bool:
    domain = "" if node.domain == "ai.onnx" else node.domain
    if qualified(node) in FROM_ONNX or not onnx.defs.has(node.op_type, domain):
        return False
    try:
        schema = onnx.defs.get_schema(node.op_type, opsets.get(domain, 1), domain)
    except onnx.defs.SchemaError:
        return False
    return bool(schema.has_function or schema.has_context_dependent_function)


Defaults = Mapping[tuple[str, str], Sequence[onnx.AttributeProto]]


def _spell_out(nodes: Iterable[onnx.NodeProto], defaults: Defaults) -> None:
    """Give nodes the default attributes that they leave out: the inliner forgets these."""
    for node in nodes:
        given = {a.name for a in node.attribute}
        for a in list(node.attribute):
            for graph in (*([a.g] if a.HasField("g") else []), *a.graphs):
                _spell_out(graph.node, defaults)
        missing = [d for d in defaults.get((node.domain, node.op_type), ()) if d.name not in given]
        node.attribute.extend(missing)


def _schema_defaults(domain: str, op: str, version: int) -> list[onnx.AttributeProto]:
    attributes = onnx.defs.get_schema(op, version, domain).attributes.values()
    return [a.default_value for a in attributes if a.default_value.name]


def _expand(
    model: OnnxModel, proto: onnx.ModelProto, name: str, opsets: dict[str, int]
) -> onnx.ModelProto | None:
    domain, _, op = name.rpartition(".")
    try:
        typed = model.engine.infer_shapes(proto)
        _spell_out(typed.graph.node, {(domain, op): _schema_defaults(domain, op, opsets[domain])})
        # The inliner wants the type of every input, and does not look at initializers.
        for t in typed.graph.initializer:
            typed.graph.value_info.append(
                onnx.helper.make_tensor_value_info(t.name, t.data_type, t.dims)
            )
        # Nor does it see that an input is left out.
        typed.graph.value_info.append(onnx.ValueInfoProto(name="", type=_ANY_TENSOR))
        found = model.engine.inline(typed, op, domain)
        kept = [v for v in found.graph.value_info if v.name]
        found.graph.ClearField("value_info")
        found.graph.value_info.extend(kept)
        return found
    except OnnxError:
        return None

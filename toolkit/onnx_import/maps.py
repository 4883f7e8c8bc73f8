"""Maps as inputs: rows stand for what DictVectorizer and CastMap of ai.onnx.ml make of them."""

from __future__ import annotations

import onnx
from onnx import GraphProto, NodeProto, TensorProto, ValueInfoProto

from ..errors import Problem

_VALUES = (TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.INT64)
_CASTS = {"TO_FLOAT": TensorProto.FLOAT, "TO_INT64": TensorProto.INT64}
_READERS = ("DictVectorizer", "CastMap")

Columns = dict[str, tuple[str, ...]]
"""By input, the names of its columns."""


class _Unfit(Exception):  # noqa: N818 - a verdict, not a fault
    """Why a map cannot be a row, and what to do about it."""

    def __init__(self, why: str, remedy: str) -> None:
        super().__init__(why)
        self.why, self.remedy = why, remedy


def rows_for_maps(graph: GraphProto) -> tuple[Columns, list[Problem]]:
    """Make tensors [1, N] of the map inputs of `graph`, in place: (their columns, what cannot be).

    DictVectorizer-1: a column for each key of the vocabulary. CastMap-1: SPARSE, a column for each
    key below max_map; DENSE, where the model declares N: the values in the order of their keys.
    """
    columns: Columns = {}
    problems: list[Problem] = []
    for info in graph.input:
        if not info.type.HasField("map_type"):
            continue
        try:
            columns[info.name] = _as_row(graph, info)
        except _Unfit as unfit:
            problems.append(Problem(info.name, "input", unfit.why, unfit.remedy))
    return columns, problems


def _as_row(graph: GraphProto, info: ValueInfoProto) -> tuple[str, ...]:
    readers = [n for n in graph.node if info.name in n.input]
    if len(readers) != 1 or readers[0].op_type not in _READERS:
        raise _Unfit("only one DictVectorizer or CastMap may read a map", "give tensors")
    value = info.type.map_type.value_type.tensor_type.elem_type
    if value not in _VALUES:
        kind = TensorProto.DataType.Name(value).lower()
        raise _Unfit(f"the values of its map are of type {kind}", "give numbers")
    (node,) = readers
    names, count = _columns(graph, node)
    if node.op_type == "CastMap":
        _cast(node)
    else:
        node.op_type = "Identity"
        del node.attribute[:]
    node.domain = ""
    row = onnx.helper.make_tensor_value_info(info.name, value, (1, count))
    info.type.CopyFrom(row.type)
    return names


def _columns(graph: GraphProto, node: NodeProto) -> tuple[tuple[str, ...], int]:
    """(names, number) of the columns; of a dense map the keys are not known."""
    attrs = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
    if node.op_type == "DictVectorizer":
        keys = attrs.get("string_vocabulary") or attrs.get("int64_vocabulary") or []
        names = tuple(k.decode() if isinstance(k, bytes) else str(k) for k in keys)
        if not names or len(set(names)) < len(names):
            raise _Unfit("its DictVectorizer has no vocabulary of different keys", "export again")
        return names, len(names)
    if attrs.get("map_form", b"DENSE") == b"SPARSE":
        count = int(attrs.get("max_map", 1))
        if not 0 < count <= 1 << 16:
            raise _Unfit(f"its CastMap makes {count} columns", "export it with another max_map")
        return tuple(map(str, range(count))), count
    for info in (*graph.output, *graph.value_info):
        dims = info.type.tensor_type.shape.dim
        if info.name == node.output[0] and len(dims) == 2 and dims[1].dim_value > 0:
            return (), int(dims[1].dim_value)
    raise _Unfit("the model does not say how many values its map has", "use map_form=SPARSE")


def _cast(node: NodeProto) -> None:
    to = next((a.s.decode() for a in node.attribute if a.name == "cast_to"), "TO_FLOAT")
    if to not in _CASTS:
        raise _Unfit("its CastMap makes strings", "use cast_to=TO_FLOAT or TO_INT64")
    del node.attribute[:]
    node.op_type = "Cast"
    node.attribute.append(onnx.helper.make_attribute("to", _CASTS[to]))

"""Which operators work in any layout, and what becomes of their attributes in another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..ir import Node, Shape, Value
from ..ops import definition
from ..ops._opdef import Layout

Attrs = dict[str, Any]
Perm = tuple[int, ...]


def inverse(perm: Sequence[int]) -> Perm:
    """The permutation that undoes `perm`."""
    return tuple(sorted(range(len(perm)), key=lambda i: perm[i]))


def compose(first: Sequence[int], then: Sequence[int]) -> Perm:
    """One permutation for a Transpose by `first` and then by `then`."""
    return tuple(first[p] for p in then)


def is_identity(perm: Sequence[int]) -> bool:
    return list(perm) == sorted(perm)


def is_kept(v: Shape, x: Shape, axes: Sequence[int]) -> bool:
    """Whether `v` has `axes` of `x` with size 1 and all others whole, to broadcast along these."""
    kept = tuple(1 if i in axes else d for i, d in enumerate(x))
    return (1,) * (len(x) - len(v)) + v == kept


def works_in_any_layout(node: Node) -> bool:
    """Whether permuting inputs and output alike is possible: `permuted` says how."""
    rank = len(node.output.shape)
    op = definition(node.op)
    if op.layout is None or rank < 2 or not node.attrs.get("keepdims", True):
        return False
    if node.op == "Gather" and len(node.input(1).shape) != 1:
        return False
    if node.op == "Lut" and len(node.inputs) > 2:  # whose tables are of the last axis
        return False
    data = data_inputs(node)
    if op.broadcasts or node.op == "LayerNorm":
        return all(len(v.shape) <= rank for v in data)
    return all(len(v.shape) == rank for v in data)


def data_inputs(node: Node) -> list[Value]:
    """The inputs that have the output's axes; the others are indices and tables."""
    count = 1 if node.op in ("Gather", "Lut") else len(node.inputs)
    return [v for v in node.inputs[:count] if v is not None]


def allows(node: Node, perm: Perm) -> bool:
    """Whether the node can be computed with its axes permuted: reductions run over neighbours."""
    attrs, layout = permuted(node, perm), _layout(node)
    some = [attrs[name] for name, how in layout.items() if how == "axes"]
    return all(axes == tuple(range(axes[0], axes[0] + len(axes))) for axes in some)


def permuted(node: Node, perm: Perm) -> Attrs:
    """The attributes that change when all axes are permuted by `perm`."""
    return {n: _permuted(node.attrs[n], how, perm) for n, how in _layout(node).items()}


def _layout(node: Node) -> Layout:
    layout = definition(node.op).layout
    assert layout is not None, node
    return layout


def _permuted(value: Any, how: str, perm: Perm) -> Any:
    if how == "axis":
        return perm.index(value)
    if how == "axes":
        return tuple(sorted(perm.index(a) for a in value))
    return tuple(value[p] for p in perm)

"""Loop and Branch, which have graphs inside, and Region, a border of one in the list of operators.

`plan/regions.py` makes Regions of the others when a file is built.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...format.schema import OpKind, RegionFn
from ...ir import Graph, Node, TensorType, Value
from ...numerics import INT32, UINT8
from .._opdef import Blob, Lowered, OpDef

FLAG = TensorType(UINT8, (1,))
COUNT = TensorType(INT32, (1,))


class Loop(OpDef):
    """A graph that runs again and again: ONNX Loop-1..25, Scan-9..25.

    attrs: body; most, the steps that it takes at most; strict: to want more stops the run; asked:
    whether it goes on by a condition. Inputs: int32[1], how many steps to take, or None; uint8[1],
    whether to take one at all, or None; what is carried from step to step; what the body reads.
    The body's inputs: int32[1], the step from 0; what is carried; what it reads. Its outputs: if
    asked, uint8[1], whether to go on; what is carried. Outputs: what is carried, as it is at last,
    and int32[1], the steps taken. A body is float32, or of integers that are no quantized numbers.
    """

    name = "Loop"
    float_only = "it has a graph inside, which runs in float32"

    def infer(self, node: Node) -> list[TensorType]:
        body: Graph = node.attrs["body"]
        asked = node.attrs["asked"]
        trips, condition, *given = node.inputs
        _fits(trips, COUNT, False)
        _fits(condition, FLAG, asked)
        _given(body, [COUNT, *(v.type for v in given if v is not None)])
        made = [port.value.type for port in body.outputs]
        carried = made[1:] if asked else made
        if asked and made[0] != FLAG:
            raise ValueError(f"its condition is {made[0]}")
        if carried != [v.type for v in given[: len(carried)] if v is not None]:
            raise ValueError(f"a step makes {carried} of {given}")
        return [*carried, COUNT]

    def lower(self, node: Node, blob: Blob) -> Lowered:
        raise ValueError("a Loop is lowered by its Regions")


class Branch(OpDef):
    """One of two graphs, by a condition: ONNX If-1..25.

    attrs: yes and no, graphs without inputs of their own. Inputs: uint8[1]; what either reads,
    which are the inputs of both. Outputs: those of both.
    """

    name = "Branch"
    float_only = "it has graphs inside, which run in float32"

    def infer(self, node: Node) -> list[TensorType]:
        yes, no = node.attrs["yes"], node.attrs["no"]
        condition, *given = node.inputs
        _fits(condition, FLAG, True)
        made: list[list[TensorType]] = []
        for body in (yes, no):
            _given(body, [v.type for v in given if v is not None])
            made.append([port.value.type for port in body.outputs])
        if made[0] != made[1]:
            raise ValueError(f"its branches make {made[0]} and {made[1]}")
        return made[0]

    def lower(self, node: Node, blob: Blob) -> Lowered:
        raise ValueError("a Branch is lowered by its Regions")


class Region(OpDef):
    """A border: attrs fn, a RegionFn; length, back, most, strict as in the file."""

    name = "Region"
    float_only = "it is a border"

    def infer(self, node: Node) -> list[TensorType]:
        return [v.type for v in node.outputs]

    def lower(self, node: Node, blob: Blob) -> Lowered:
        names = ("fn", "length", "back", "most", "strict")
        return Lowered(OpKind.Region, {n: int(node.attrs[n]) for n in names}, list(node.inputs))


def region(fn: RegionFn, inputs: Sequence[Value | None], outputs: Sequence[Value]) -> Node:
    """A border whose distances are to be filled in."""
    attrs = {"fn": fn, "length": 0, "back": 0, "most": 0, "strict": 0}
    return Node(Region.name, list(inputs), list(outputs), attrs, outputs[0].name)


def bodies(node: Node) -> list[Graph]:
    """The graphs inside of a node."""
    return [attr for attr in node.attrs.values() if isinstance(attr, Graph)]


def _fits(v: Value | None, wanted: TensorType, needed: bool) -> None:
    if (v is None and needed) or (v is not None and v.type != wanted):
        raise ValueError(f"{v} is not {wanted}")


def _given(body: Graph, types: list[TensorType]) -> None:
    inside = [port.value.type for port in body.inputs]
    if inside != types:
        raise ValueError(f"a graph inside takes {inside}, not {types}")


OPS: tuple[OpDef, ...] = (Loop(), Branch(), Region())

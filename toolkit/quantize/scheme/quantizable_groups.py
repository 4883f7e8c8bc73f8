"""What runs on int8, what on more or fewer bits, and what stays float32.

A group is a node, or a chain of elementwise nodes that integers run as one table. Every group that
can be is int8 or what was asked for, except where that only adds conversions between neighbours.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from ...ir import Graph, Node, Value
from ...ops import definition
from ...ops._opdef import OpDef
from ...passes.fold_affine_forward import MAX_SPREAD
from .lookup_chains import LookupChain, find_chains
from .options import Options
from .precision import ACTIVATION_DTYPE, FLOAT, INT8, INT16, WITH_INT4_WEIGHTS, DType, Precision

Refused = Mapping[tuple[Node, Precision], str]

_NEXT: Mapping[Precision, tuple[Precision, ...]] = {
    "int16x4": ("int16", "int4", "int8"),
    "int16": ("int8",),
    "int4": ("int8",),
    "int8": (),
}
"""What comes next to a precision that a group cannot have, before float32."""


@dataclass(eq=False)
class QuantizableGroup:
    """`precision` is None for a group without float tensors, which stays as it was.

    `why` it is float32, or not what was asked for; "" for others.
    """

    node: Node
    chain: LookupChain | None = None
    precision: Precision | None = None
    why: str = ""

    @property
    def dtype(self) -> DType | None:
        """Of the activations."""
        return None if self.precision is None else ACTIVATION_DTYPE[self.precision]

    @property
    def integer(self) -> bool:
        return self.dtype in (INT8, INT16)

    @property
    def nodes(self) -> tuple[Node, ...]:
        """The float nodes it stands for."""
        return self.chain.nodes if self.chain else (self.node,)

    @property
    def label(self) -> tuple[str, str]:
        """(operator, name) that decisions tell it by."""
        op = self.chain.op if self.chain else self.node.op
        return op, self.node.name or self.node.output.name

    @property
    def inputs(self) -> list[Value]:
        """Dynamic inputs that are float in the float graph."""
        return [v for v in self.node.dynamic_inputs if v.dtype == FLOAT]

    @property
    def outputs(self) -> list[Value]:
        return [v for v in self.node.outputs if v.dtype == FLOAT]

    @property
    def shared(self) -> bool:
        return self.chain is None and definition(self.node.op).shared


def find_quantizable_groups(
    graph: Graph,
    known: Collection[str],
    options: Options,
    refused: Refused,
) -> list[QuantizableGroup]:
    """The groups in order of execution, each with its precision.

    `known` are the tensors whose ranges are known, and `refused` says why a node does not run at a
    precision.
    """
    chains = {c.nodes[-1]: c for c in find_chains(graph)}
    inside = {n for c in chains.values() for n in c.nodes}
    groups: list[QuantizableGroup] = []
    for node in graph.nodes:
        if node in chains:
            chain = chains[node]
            table = Node("Lut", [chain.root], [chain.end], {}, node.name)
            groups.append(QuantizableGroup(table, chain))
        elif node not in inside:
            groups.append(QuantizableGroup(node))
    wide = _wide(groups, {*options.int16, *_unscaled(graph)})
    for group in groups:
        wanted = _wanted(group, wide, options.precision)
        group.precision, group.why = _possible(group, wanted, known, refused)
    _avoid_crossings(groups, refused)
    return groups


def _unscaled(graph: Graph) -> Iterator[str]:
    """Inputs of the graph, and what is added to them, up to a Mul that brings features of scales
    too different for one int8 scale to one (MAX_SPREAD).
    """
    readers = graph.consumers()
    for port in graph.inputs:
        v, names = port.value, list[str]()
        while len(users := readers.get(v, [])) == 1 and v.dtype == FLOAT:
            names.append(v.name)
            node = users[0]
            constants = [w.const for w in node.inputs if w is not None and w.const is not None]
            if node.op == "Mul" and constants:
                sizes = np.abs(constants[0])
                if constants[0].size > 1 and 0 < sizes.min() * MAX_SPREAD < sizes.max():
                    yield from names
            if node.op != "Add" or not constants or node.output in graph.output_values():
                break
            v = node.output


def _wide(groups: list[QuantizableGroup], asked: Collection[str]) -> set[Value]:
    """The tensors to be int16: those asked for, and those that share a quantization with them."""
    wide = {v for u in groups for v in u.inputs + u.outputs if v.name in asked}
    moved = [u for u in groups if u.shared and len(u.inputs) == len(u.outputs) == 1]
    known = -1
    while len(wide) > known:
        known = len(wide)
        for u in moved:
            if not wide.isdisjoint(u.inputs + u.outputs):
                wide.update(u.inputs + u.outputs)
    return wide


def _wanted(group: QuantizableGroup, wide: set[Value], asked: Mapping[str, Precision]) -> Precision:
    of_outputs = {asked.get(v.name) for n in group.nodes for v in n.outputs}
    if "float32" in of_outputs:
        return "float32"
    narrow = wide.isdisjoint(group.inputs + group.outputs)
    if "int4" in of_outputs:
        return "int4" if narrow else "int16x4"
    return "int8" if narrow else "int16"


def _possible(
    group: QuantizableGroup, wanted: Precision, known: Collection[str], refused: Refused
) -> tuple[Precision | None, str]:
    """`wanted`, or what comes next to it, and why."""
    if not group.inputs and not group.outputs:
        return None, ""
    if wanted == "float32":
        return "float32", "it loses too much in integers"
    if not group.inputs and not _picks_constants(group):
        return "float32", "it reads no float tensor"
    for v in group.inputs + group.outputs:
        if v.name not in known:
            return "float32", f"the range of '{v.name}' is not known"
    first = problem(group, wanted, refused)
    if first is None:
        return wanted, ""
    if group.chain and wanted == "int16":  # int8's steps are no finer than the table's
        return "float32", first
    why: str | None = first
    for other in _NEXT[wanted]:
        why = problem(group, other, refused)
        if why is None:
            return other, first
    return "float32", why or first


def _picks_constants(group: QuantizableGroup) -> bool:
    """Whether it moves real constants, as a Gather of rows of a table does."""
    return group.shared and any(v is not None and v.const is not None and v.dtype == FLOAT
                               for v in group.node.inputs)  # fmt: skip


def problem(group: QuantizableGroup, precision: Precision, refused: Refused) -> str | None:
    """Why `group` cannot run at the integer `precision`; None if it can."""
    if why := refused.get((group.nodes[-1], precision)):
        return why
    op = definition(group.node.op)
    if precision in WITH_INT4_WEIGHTS:
        wide = precision == "int16x4"
        return op.int16x4_problem(group.node) if wide else op.int4_problem(group.node)
    if type(op).integer is OpDef.integer:
        return "it has no integer form"
    return op.integer_problem(group.node) if precision == "int8" else op.int16_problem(group.node)


def can_be_int4(group: QuantizableGroup, refused: Refused) -> bool:
    """Whether 4-bit weights are a choice for an integer group."""
    weighted = group.chain is None and definition(group.node.op).weight is not None
    wanted: Precision = "int16x4" if group.dtype == INT16 else "int4"
    return group.integer and weighted and problem(group, wanted, refused) is None


def _is_light(group: QuantizableGroup) -> bool:
    heavy = definition(group.node.op).weight is not None or group.node.op == "MatMul"
    return group.chain is not None or not heavy


def _avoid_crossings(groups: list[QuantizableGroup], refused: Refused) -> None:
    """Turn cheap groups int16 or float while that lowers the number of conversions."""
    made_by = {v: u for u in groups for v in u.outputs}
    readers: dict[Value, list[QuantizableGroup]] = {}
    for u in groups:
        for v in u.inputs:
            readers.setdefault(v, []).append(u)

    def conversions(u: QuantizableGroup, dtype: DType) -> int:
        sources = {v: made_by[v].dtype for v in u.inputs if v in made_by}
        sinks = [[r.dtype for r in readers.get(v, ())] for v in u.outputs]
        return sum(s != dtype for s in sources.values()) + sum(
            any(r != dtype for r in rs) for rs in sinks
        )

    light = [u for u in groups if u.integer and _is_light(u)]
    changed = True
    while changed:
        changed = False
        for u in light:
            fewest = conversions(u, ACTIVATION_DTYPE[u.precision or "float32"])
            others: list[Precision] = ["int16", "float32"] if u.dtype == INT8 else ["float32"]
            for precision in others if u.integer else ():
                count = conversions(u, ACTIVATION_DTYPE[precision])
                possible = precision == "float32" or problem(u, precision, refused) is None
                if count < fewest and possible:
                    fewest, changed = count, True
                    u.precision, u.why = precision, f"its neighbours are {precision}"

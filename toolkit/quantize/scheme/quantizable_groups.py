"""What runs on int8, what on more or fewer bits, and what stays float32.

A unit is a node, or a chain of elementwise nodes that integers run as one table. Every unit that
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
from .lookup_chains import Chain, find_chains
from .options import Options
from .precision import ACTIVATIONS, FLOAT, INT8, INT16, OF_4_BITS, DType, Precision

Refused = Mapping[tuple[Node, Precision], str]

_NEXT: Mapping[Precision, tuple[Precision, ...]] = {
    "int16x4": ("int16", "int4", "int8"),
    "int16": ("int8",),
    "int4": ("int8",),
    "int8": (),
}
"""What comes next to a precision that a unit cannot have, before float32."""


@dataclass(eq=False)
class Unit:
    """`precision` is None for a unit without float tensors, which stays as it was.

    `why` it is float32, or not what was asked for; "" for others.
    """

    node: Node
    chain: Chain | None = None
    precision: Precision | None = None
    why: str = ""

    @property
    def dtype(self) -> DType | None:
        """Of the activations."""
        return None if self.precision is None else ACTIVATIONS[self.precision]

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


def find_units(
    graph: Graph,
    known: Collection[str],
    options: Options,
    refused: Refused,
) -> list[Unit]:
    """The units in order of execution, each with its precision.

    `known` are the tensors whose ranges are known, and `refused` says why a node does not run at a
    precision.
    """
    chains = {c.nodes[-1]: c for c in find_chains(graph)}
    inside = {n for c in chains.values() for n in c.nodes}
    units: list[Unit] = []
    for node in graph.nodes:
        if node in chains:
            chain = chains[node]
            table = Node("Lut", [chain.root], [chain.end], {}, node.name)
            units.append(Unit(table, chain))
        elif node not in inside:
            units.append(Unit(node))
    wide = _wide(units, {*options.int16, *_unscaled(graph)})
    for unit in units:
        wanted = _wanted(unit, wide, options.precision)
        unit.precision, unit.why = _possible(unit, wanted, known, refused)
    _avoid_crossings(units, refused)
    return units


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


def _wide(units: list[Unit], asked: Collection[str]) -> set[Value]:
    """The tensors to be int16: those asked for, and those that share a quantization with them."""
    wide = {v for u in units for v in u.inputs + u.outputs if v.name in asked}
    moved = [u for u in units if u.shared and len(u.inputs) == len(u.outputs) == 1]
    known = -1
    while len(wide) > known:
        known = len(wide)
        for u in moved:
            if not wide.isdisjoint(u.inputs + u.outputs):
                wide.update(u.inputs + u.outputs)
    return wide


def _wanted(unit: Unit, wide: set[Value], asked: Mapping[str, Precision]) -> Precision:
    of_outputs = {asked.get(v.name) for n in unit.nodes for v in n.outputs}
    if "float32" in of_outputs:
        return "float32"
    narrow = wide.isdisjoint(unit.inputs + unit.outputs)
    if "int4" in of_outputs:
        return "int4" if narrow else "int16x4"
    return "int8" if narrow else "int16"


def _possible(
    unit: Unit, wanted: Precision, known: Collection[str], refused: Refused
) -> tuple[Precision | None, str]:
    """`wanted`, or what comes next to it, and why."""
    if not unit.inputs and not unit.outputs:
        return None, ""
    if wanted == "float32":
        return "float32", "it loses too much in integers"
    if not unit.inputs and not _picks_constants(unit):
        return "float32", "it reads no float tensor"
    for v in unit.inputs + unit.outputs:
        if v.name not in known:
            return "float32", f"the range of '{v.name}' is not known"
    first = problem(unit, wanted, refused)
    if first is None:
        return wanted, ""
    if unit.chain and wanted == "int16":  # int8's steps are no finer than the table's
        return "float32", first
    why: str | None = first
    for other in _NEXT[wanted]:
        why = problem(unit, other, refused)
        if why is None:
            return other, first
    return "float32", why or first


def _picks_constants(unit: Unit) -> bool:
    """Whether it moves real constants, as a Gather of rows of a table does."""
    return unit.shared and any(v is not None and v.const is not None and v.dtype == FLOAT
                               for v in unit.node.inputs)  # fmt: skip


def problem(unit: Unit, precision: Precision, refused: Refused) -> str | None:
    """Why `unit` cannot run at the integer `precision`; None if it can."""
    if why := refused.get((unit.nodes[-1], precision)):
        return why
    op = definition(unit.node.op)
    if precision in OF_4_BITS:
        wide = precision == "int16x4"
        return op.int16x4_problem(unit.node) if wide else op.int4_problem(unit.node)
    if type(op).integer is OpDef.integer:
        return "it has no integer form"
    return op.integer_problem(unit.node) if precision == "int8" else op.int16_problem(unit.node)


def can_be_int4(unit: Unit, refused: Refused) -> bool:
    """Whether 4-bit weights are a choice for an integer unit."""
    weighted = unit.chain is None and definition(unit.node.op).weight is not None
    wanted: Precision = "int16x4" if unit.dtype == INT16 else "int4"
    return unit.integer and weighted and problem(unit, wanted, refused) is None


def _is_light(unit: Unit) -> bool:
    heavy = definition(unit.node.op).weight is not None or unit.node.op == "MatMul"
    return unit.chain is not None or not heavy


def _avoid_crossings(units: list[Unit], refused: Refused) -> None:
    """Turn cheap units int16 or float while that lowers the number of conversions."""
    made_by = {v: u for u in units for v in u.outputs}
    readers: dict[Value, list[Unit]] = {}
    for u in units:
        for v in u.inputs:
            readers.setdefault(v, []).append(u)

    def conversions(u: Unit, dtype: DType) -> int:
        sources = {v: made_by[v].dtype for v in u.inputs if v in made_by}
        sinks = [[r.dtype for r in readers.get(v, ())] for v in u.outputs]
        return sum(s != dtype for s in sources.values()) + sum(
            any(r != dtype for r in rs) for rs in sinks
        )

    light = [u for u in units if u.integer and _is_light(u)]
    changed = True
    while changed:
        changed = False
        for u in light:
            fewest = conversions(u, ACTIVATIONS[u.precision or "float32"])
            others: list[Precision] = ["int16", "float32"] if u.dtype == INT8 else ["float32"]
            for precision in others if u.integer else ():
                count = conversions(u, ACTIVATIONS[precision])
                possible = precision == "float32" or problem(u, precision, refused) is None
                if count < fewest and possible:
                    fewest, changed = count, True
                    u.precision, u.why = precision, f"its neighbours are {precision}"

"""The precision of each operator: int8, more or fewer bits, or float32.

A group is a node, or a chain of elementwise nodes that becomes one table. Every group that supports
it has int8 or the requested precision, unless that only adds conversions between neighbours.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from ...format.schema import BinaryFn
from ...ir import Graph, Node, Value
from ...numerics import (
    FLOAT,
    FLOAT32,
    INT8,
    INT16,
    INTEGERS,
    PRECISIONS,
    W8A8,
    W8A16,
    DType,
    Precision,
)
from ...ops import computes, definition
from ...ops.convert.fake_quantize import given_quantization
from ...passes.fusion.fold_affine_forward import MAX_SPREAD
from .exponential_outputs import exponents
from .lookup_chains import LookupChain
from .options import Options

Refused = Mapping[tuple[Node, Precision], str]


@dataclass(eq=False)
class QuantizableGroup:
    """A group and its precision, None for a group without float tensors, which is not changed.

    `why` is the reason if it is float32 or not the requested precision, else "".
    """

    node: Node
    chain: LookupChain | None = None
    precision: Precision | None = None
    why: str = ""

    @property
    def dtype(self) -> DType | None:
        """The type of the activations."""
        return None if self.precision is None else self.precision.activations

    @property
    def weight_bits(self) -> int:
        """Bits of the weights; 0 without integer weights."""
        return 0 if self.precision is None else self.precision.weight_bits

    @property
    def made_in(self) -> DType | None:
        """`dtype`, but for a FakeQuantize the type of its grid."""
        quant = given_quantization(self.node)
        return self.dtype if quant is None else quant.dtype

    @property
    def integer(self) -> bool:
        return self.dtype in INTEGERS

    @property
    def nodes(self) -> tuple[Node, ...]:
        """The float nodes of the group."""
        return self.chain.nodes if self.chain else (self.node,)

    @property
    def label(self) -> tuple[str, str]:
        """(operator, name) as shown in decisions."""
        op = self.chain.op if self.chain else self.node.op
        return op, self.node.name or self.node.output.name

    @property
    def inputs(self) -> list[Value]:
        """Non-constant inputs that are float in the float graph."""
        return [v for v in self.node.dynamic_inputs if v.dtype == FLOAT]

    @property
    def outputs(self) -> list[Value]:
        return [v for v in self.node.outputs if v.dtype == FLOAT]

    @property
    def light(self) -> bool:
        """Whether it does little work for each number."""
        return self.chain is not None or not definition(self.node.op).heavy

    @property
    def shared(self) -> bool:
        return self.chain is None and definition(self.node.op).shared


def find_quantizable_groups(
    graph: Graph,
    found: list[LookupChain],
    known: Collection[str],
    options: Options,
    refused: Refused,
) -> list[QuantizableGroup]:
    """The groups in execution order, each with its precision.

    `found` are the graph's chains; `known` are the tensors whose ranges are known; `refused` gives
    the reason why a node does not run at a precision.
    """
    chains = {c.nodes[-1]: c for c in found}
    inside = {n for c in chains.values() for n in c.nodes}
    groups: list[QuantizableGroup] = []
    for node in graph.nodes:
        if node in chains:
            groups.append(QuantizableGroup(chains[node].node, chains[node]))
        elif node not in inside:
            groups.append(QuantizableGroup(node))
    given = {v.name for v in graph.values() if v.quant is not None and v.quant.dtype == INT16}
    narrowest = {
        *options.wide,
        *unscaled(graph),
        *given,
        *_shares_of_gates(graph),
        *_wide_states(graph),
        *exponents(graph),
    }
    wide = _wide(groups, narrowest)
    for group in groups:
        wanted = _wanted(group, wide, options.precision)
        group.precision, group.why = _possible(group, wanted, known, refused)
    _avoid_crossings(groups, refused)
    return groups


def unscaled(graph: Graph) -> Iterator[str]:
    """Graph inputs with features of too different scales for one int8 scale (MAX_SPREAD), and the
    tensors moved or added from them, up to the Mul that normalizes the features.
    """
    readers = graph.consumers()
    for port in graph.inputs:
        v, names = port.value, list[str]()
        while len(users := readers.get(v, [])) == 1 and v.dtype == FLOAT:
            names.append(v.name)
            node = users[0]
            constants = [w.const for w in node.inputs if w is not None and w.const is not None]
            if computes(node, BinaryFn.Mul) and constants:
                sizes = np.abs(constants[0])
                if constants[0].size > 1 and 0 < sizes.min() * MAX_SPREAD < sizes.max():
                    yield from names
            added = computes(node, BinaryFn.Add) and constants
            moved = definition(node.op).shared and len(node.inputs) == len(node.outputs) == 1
            if not (added or moved) or node.output in graph.output_values():
                break
            v = node.output


def _shares_of_gates(graph: Graph) -> Iterator[str]:
    """First inputs of nodes whose gates need more than int8; their weights are in the node
    before."""
    for node in graph.nodes:
        if _is_wide(node):
            yield node.input(0).name


def _wide_states(graph: Graph) -> Iterator[str]:
    """Outputs of such nodes that are their next state."""
    readers, outputs = graph.consumers(), {p.name: p.value.name for p in graph.outputs}
    for port in graph.inputs:
        reached = [port.value] if port.follows else []
        for v in reached:
            users = readers.get(v, [])
            if any(_is_wide(node) for node in users):
                yield outputs[port.follows]
            reached += [n.output for n in users if definition(n.op).shared]


def _is_wide(node: Node) -> bool:
    """Whether it is int16 or float32."""
    found = definition(node.op).precisions
    return W8A16 in found and W8A8 not in found


def _wide(groups: list[QuantizableGroup], asked: Collection[str]) -> set[Value]:
    """The int16 tensors: the requested ones, and those that share a quantization with them."""
    asked_for = (v for u in groups for v in u.inputs + u.outputs if v.name in asked)
    wide = {v for v in asked_for if v.quant is None or v.quant.dtype == INT16}
    moved = [u for u in groups if u.shared and len(u.inputs) == len(u.outputs) == 1]
    known = -1
    while len(wide) > known:
        known = len(wide)
        for u in moved:
            if not wide.isdisjoint(u.inputs + u.outputs):
                wide.update(u.inputs + u.outputs)
    return wide


def _wanted(group: QuantizableGroup, wide: set[Value], asked: Mapping[str, Precision]) -> Precision:
    names = [v.name for n in group.nodes for v in n.outputs]
    of_outputs = [PRECISIONS[asked[name]] for name in names if name in asked]
    if FLOAT32 in of_outputs:
        return FLOAT32
    narrow = wide.isdisjoint(group.inputs + group.outputs) and not _is_wide(group.node)
    bits = min((p.weight_bits for p in of_outputs), default=8)
    return Precision(INT8 if narrow else INT16, bits)


def _possible(
    group: QuantizableGroup, wanted: Precision, known: Collection[str], refused: Refused
) -> tuple[Precision | None, str]:
    """`wanted`, or the closest available precision, and the reason."""
    if not group.inputs and not group.outputs:
        return None, ""
    if wanted == FLOAT32:
        return FLOAT32, "too inaccurate in integers"
    if given_quantization(group.node) is not None:
        return FLOAT32, ""
    if not group.inputs and not _picks_constants(group):
        return FLOAT32, "it reads no float tensor"
    inside = [n.output for n in definition(group.node.op).inside(group.node).values()]
    for v in group.inputs + group.outputs + inside:
        if v.name not in known:
            return FLOAT32, f"the range of '{v.name}' is not known"
    first = problem(group, wanted, refused)
    if first is None:
        return wanted, ""
    if group.chain and wanted.activations != INT8:  # int8 steps are no finer than the table's
        return FLOAT32, first
    why: str | None = first
    for other in wanted.next:
        why = problem(group, other, refused)
        if why is None:
            return other, first
    return FLOAT32, why or first


def _picks_constants(group: QuantizableGroup) -> bool:
    """Whether it moves real constants, such as a Gather of table rows."""
    return group.shared and any(v is not None and v.const is not None and v.dtype == FLOAT
                               for v in group.node.inputs)  # fmt: skip


def problem(group: QuantizableGroup, precision: Precision, refused: Refused) -> str | None:
    """Why `group` cannot run at the integer `precision`; None if it can."""
    if why := refused.get((group.nodes[-1], precision)):
        return why
    return definition(group.node.op).problem(group.node, precision)


def can_be_narrow(group: QuantizableGroup, bits: int, refused: Refused) -> bool:
    """Whether an integer group can have weights of `bits`."""
    if group.dtype not in INTEGERS or group.chain or definition(group.node.op).any_weight is None:
        return False
    return problem(group, Precision(group.dtype, bits), refused) is None


def _is_given(group: QuantizableGroup) -> bool:
    """Whether the model specifies the quantization of all of its tensors."""
    return all(v.quant is not None for v in group.inputs + group.outputs)


def _avoid_crossings(groups: list[QuantizableGroup], refused: Refused) -> None:
    """Change cheap groups to int16 or float as long as that reduces the number of conversions."""
    made_by = {v: u for u in groups for v in u.outputs}
    readers: dict[Value, list[QuantizableGroup]] = {}
    for u in groups:
        for v in u.inputs:
            readers.setdefault(v, []).append(u)

    def conversions(u: QuantizableGroup, dtype: DType) -> int:
        sources = {v: made_by[v].made_in for v in u.inputs if v in made_by}
        sinks = [[r.made_in for r in readers.get(v, ())] for v in u.outputs]
        return sum(s != dtype for s in sources.values()) + sum(
            any(r != dtype for r in rs) for rs in sinks
        )

    light = [u for u in groups if u.integer and u.light and not _is_given(u)]
    changed = True
    while changed:
        changed = False
        for u in light:
            fewest = conversions(u, (u.precision or FLOAT32).activations)
            others = [W8A16, FLOAT32] if u.dtype == INT8 else [FLOAT32]
            for precision in others if u.integer else ():
                count = conversions(u, precision.activations)
                possible = precision == FLOAT32 or problem(u, precision, refused) is None
                if count < fewest and possible:
                    fewest, changed = count, True
                    u.precision, u.why = precision, f"its neighbours are {precision}"

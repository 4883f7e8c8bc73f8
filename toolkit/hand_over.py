"""Layouts and element types of inputs and outputs on the device.

The ports of a quantized graph are converted to the chosen layouts and types, with additional nodes
where necessary. Names, shapes and element types in Python stay those of the ONNX model.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from .errors import UserError
from .ir import Graph, Node, Port, TensorType, Value
from .numerics import ACTIVATIONS, FLOAT, INT8, UINT8, DType, numpy_dtype
from .ops import is_a
from .ops.convert.quantize import signed
from .ops.move.movement import Reshape, Transpose
from .passes.movement.unit_axes import moves_only_units
from .quantize.option import option

Layout = Literal["nchw", "nhwc"]
LAYOUTS: tuple[Layout, ...] = ("nhwc", "nchw")
TYPES: Mapping[str, DType] = {t.name: t for t in (UINT8, *ACTIVATIONS)}

CHANNELS_LAST, CHANNELS_FIRST = (0, 2, 3, 1), (0, 3, 1, 2)
_COLOURS = (1, 3, 4)


def _of_ports(what: str, choices: Collection[str], default: str) -> dict[str, Any]:
    kind = "Dimension order" if choices is LAYOUTS else "Element type"
    text = f"{kind} of {what} on the device. Repeatable. [default: {default}]"
    return option(text, choices=choices, value="of ports")


_AS_IN_ONNX = "that of the ONNX model"


@dataclass(frozen=True)
class HandOver:
    """Layouts and element types on the device by the name of an input or output; the name ""
    applies to all for which the choice is possible."""

    input_layout: Mapping[str, str] = field(
        default_factory=dict, metadata=_of_ports("input images", LAYOUTS, _AS_IN_ONNX)
    )
    input_type: Mapping[str, str] = field(
        default_factory=dict, metadata=_of_ports("inputs", TYPES, "as the first layers compute")
    )
    output_layout: Mapping[str, str] = field(
        default_factory=dict, metadata=_of_ports("output images", LAYOUTS, _AS_IN_ONNX)
    )
    output_type: Mapping[str, str] = field(
        default_factory=dict, metadata=_of_ports("outputs", TYPES, "as the last layers compute")
    )

    @property
    def given(self) -> bool:
        return any((self.input_layout, self.input_type, self.output_layout, self.output_type))

    @property
    def layouts(self) -> tuple[tuple[str, Mapping[str, str]], ...]:
        return ("input", self.input_layout), ("output", self.output_layout)

    @property
    def types(self) -> tuple[tuple[str, Mapping[str, str]], ...]:
        return ("input", self.input_type), ("output", self.output_type)


def mark(graph: Graph, chosen: HandOver, known: str, streams: bool) -> None:
    """Note at the ports of a float graph what was chosen; `known` is "auto" or the layout of the
    ONNX model. Raises UserError for what cannot be served, as in a graph that `streams`."""
    if chosen.given and streams:
        raise UserError(
            "--stream cannot be combined with --input-layout, --input-type, --output-layout "
            "or --output-type"
        )
    _mark_types(graph, chosen)
    _check_layouts(graph, chosen, known)


def _mark_types(graph: Graph, chosen: HandOver) -> None:
    for kind, types in chosen.types:
        for port in _ports(graph, kind, types, f"--{kind}-type"):
            name = types.get(port.name, types.get("", ""))
            if numpy_dtype(port.onnx_dtype).kind != "f" or port.value.dtype != FLOAT:
                if port.name in types:
                    held = port.value.dtype
                    raise UserError(f"--{kind}-type: {kind} '{port.name}' is {held}, not a float")
                continue
            if name not in TYPES:
                raise UserError(f"--{kind}-type: no type '{name}'; there are: {', '.join(TYPES)}")
            if port.value.const is None:
                port.held = INT8 if TYPES[name] == UINT8 else TYPES[name]


def _check_layouts(graph: Graph, chosen: HandOver, known: str) -> None:
    for kind, layouts in chosen.layouts:
        for port in _ports(graph, kind, layouts, f"--{kind}-layout"):
            _axes(graph, port, kind, layouts, known)
        images = [p for p in (graph.inputs if kind == "input" else graph.outputs) if _is_image(p)]
        if "" in layouts and not images:
            raise UserError(f"--{kind}-layout: no {kind} has four dimensions")


def handed_over(graph: Graph, chosen: HandOver, known: str) -> Graph:
    """The quantized `graph` with its ports as they were chosen; its nodes are shared."""
    if not chosen.given:
        return graph
    made = replace(graph, nodes=list(graph.nodes), inputs=[], outputs=[])
    made.inputs = [_moved(made, graph, p, "input", chosen, known) for p in graph.inputs]
    made.outputs = [_moved(made, graph, p, "output", chosen, known) for p in graph.outputs]
    made.sort()
    return made


def _moved(made: Graph, graph: Graph, port: Port, kind: str, chosen: HandOver, known: str) -> Port:
    layouts, types = dict(chosen.layouts)[kind], dict(chosen.types)[kind]
    axes = _axes(graph, port, kind, layouts, known)
    if axes:
        port = _with_axes(made, graph, port, kind, axes)
    name = types.get(port.name, types.get("", ""))
    if TYPES.get(name) == UINT8 and port.value.dtype == INT8 and port.value.quant is not None:
        port = _unsigned(made, port, kind)
    return port


def _ports(graph: Graph, kind: str, chosen: Mapping[str, str], option: str) -> Sequence[Port]:
    """Those of the inputs or outputs that something was chosen for. Raises UserError."""
    ports = graph.inputs if kind == "input" else graph.outputs
    names = [p.name for p in ports]
    for name in chosen:
        if name and name not in names:
            raise UserError(f"{option}: no {kind} '{name}'; the model's are: {', '.join(names)}")
    return [p for p in ports if (p.name in chosen or "" in chosen) and not p.follows]


def _is_image(port: Port) -> bool:
    return len(port.shape) == 4


def _axes(
    graph: Graph, port: Port, kind: str, layouts: Mapping[str, str], known: str
) -> tuple[int, ...]:
    """The port's axes in the order of the layout that was chosen; empty for that of the model."""
    wanted = layouts.get(port.name, layouts.get("", ""))
    if not wanted or (not _is_image(port) and port.name not in layouts):
        return ()
    option = f"--{kind}-layout"
    if wanted not in LAYOUTS:
        raise UserError(f"{option}: no layout '{wanted}'; there are: {', '.join(LAYOUTS)}")
    if not _is_image(port):
        raise UserError(
            f"{option}: {kind} '{port.name}' has shape {list(port.shape)}, not four dimensions"
        )
    own = known if known in LAYOUTS else _own_layout(graph, port, kind)
    if own is None:
        raise UserError(
            f"{option}: the layout of {kind} '{port.name}' {list(port.shape)} is ambiguous; "
            "specify the layout of the ONNX model: --layout nchw or --layout nhwc"
        )
    if own == wanted:
        return ()
    return CHANNELS_LAST if wanted == "nhwc" else CHANNELS_FIRST


def _own_layout(graph: Graph, port: Port, kind: str) -> Layout | None:
    """The layout of the ONNX model, by the transposes at the port and else by its dimensions."""
    perms = {tuple(n.attrs["perm"]) for n in _transposes(graph, port.value, kind)}
    back = kind == "output"
    if perms == {CHANNELS_FIRST if back else CHANNELS_LAST}:
        return "nchw"
    if perms == {CHANNELS_LAST if back else CHANNELS_FIRST}:
        return "nhwc"
    first, last = (port.shape[axis] in _COLOURS for axis in (1, 3))
    return None if first == last else "nchw" if first else "nhwc"


def _transposes(graph: Graph, value: Value, kind: str) -> list[Node]:
    """Those that read an input, or make an output."""
    if kind == "input":
        return [n for n in graph.nodes if is_a(n, Transpose) and value in n.dynamic_inputs]
    return [n for n in graph.nodes if is_a(n, Transpose) and n.output is value]


def _with_axes(made: Graph, graph: Graph, port: Port, kind: str, axes: tuple[int, ...]) -> Port:
    """The port in another layout: without the Transpose there if it is the same, or with one."""
    given, back, v = kind == "input", tuple(np.argsort(axes).tolist()), port.value
    known = _transposes(graph, v, kind)
    used = [n for n in graph.nodes if v in n.dynamic_inputs]
    outputs = graph.output_values()
    if given and known and used == known and v not in outputs:
        same = [n for n in known if tuple(n.attrs["perm"]) == axes]
        if len(same) == len(known) == 1:
            made.nodes.remove(same[0])
            return replace(port, value=same[0].output, axes=axes)
    if not given and known and not used and tuple(known[0].attrs["perm"]) == back:
        made.nodes.remove(known[0])
        return replace(port, value=known[0].input(0), axes=axes)
    shape = tuple(port.shape[a] for a in axes)
    held = Value(f"{v.name}.held", TensorType(v.dtype, shape), None, v.quant)
    flat = Value(f"{v.name}.laid", TensorType(v.dtype, port.shape), None, v.quant)
    if moves_only_units(port.shape, axes):  # the bytes are the same
        x, y = (held, v) if given else (v, held)
        made.nodes.append(Node(Reshape.name, [x], [y], {"shape": y.shape}, y.name))
    elif given:
        perm = Node(Transpose.name, [held], [flat], {"perm": back}, flat.name)
        made.nodes = [
            perm,
            Node(Reshape.name, [flat], [v], {"shape": v.shape}, v.name),
            *made.nodes,
        ]
    else:
        perm = Node(Transpose.name, [flat], [held], {"perm": axes}, held.name)
        view = Node(Reshape.name, [v], [flat], {"shape": port.shape}, flat.name)
        made.nodes += [view, perm]
    return replace(port, value=held, axes=axes)


def _unsigned(made: Graph, port: Port, kind: str) -> Port:
    """The port as uint8, whose zero point is 128 above that of int8."""
    v = port.value
    assert v.quant is not None
    quant = replace(v.quant, zero_point=v.quant.zero_point + 128, qmin=0, qmax=255)
    held = Value(f"{v.name}.uint8", TensorType(UINT8, v.shape), None, quant)
    if kind == "input":
        made.nodes = signed(held, v) + made.nodes
    else:
        made.nodes += signed(v, held)
    return replace(port, value=held)

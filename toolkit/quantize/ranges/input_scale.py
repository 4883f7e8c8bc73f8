"""Whether samples are on the scale that the model was trained for.

The first layer with a bias has one of the size of what it makes of the inputs: training, or a
normalization folded into it, sees to that. Layers without biases before it only pass the scale on.
Of 25 real models whose first layer has a trained bias, what it sums is 0.4 to 15 times as large.
Pixels that were not divided by 255, or divided twice, are off by more than that, and answers hang
on it; of a network without biases they do not. A bias that training left at its initial size says
less the more inputs are summed: of four classifiers of sound embeddings up to 66, with 1,536 to
3,264 inputs in the first layer, it is one 3,800th to one 10,400th of the sums.

A scaler that the network begins with tells more: what it subtracts is as large as the inputs.
An autoencoder tells most: on another scale it does not rebuild its input.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ....calibration import median
from ...build import open_once
from ...format.schema import BinaryFn
from ...ir import Array, Graph, Node, Port, Value
from ...numerics import FLOAT
from ...ops import computes, definition
from ..outputs.differences import rebuilt_at_scale
from ..outputs.signals import FEW_NUMBERS
from ..outputs.skips import added_to_inputs
from ..scheme.prepare import copy_graph

LOOKED_AT = 8
"""Samples."""
LARGEST, SMALLEST = 60.0, 0.04
"""What a first layer sums over its bias, beyond which something is wrong."""
INITIAL = 3.0
"""A bias up to so many times the deviation of the uniform distribution within 1 / sqrt(inputs),
where PyTorch begins (after LeCun et al. 1998, "Efficient BackProp", section 4.6), may never have
been trained: it is then about as large as a weight."""
LARGEST_OF_INITIAL = 10.0
"""What a first layer with such a bias sums over it and its number of inputs, beyond which something
is wrong: all inputs alike and ten times as large as normalized ones come to that."""
FLOAT_ERROR = 1e-6
"""Relative to the largest value: a few roundings of float32."""
STEP = 255.0
"""By which inputs are often off, and by which it is tried whether the scale matters."""
SMALL_VALUES = 32.0
"""Values no larger than this have been scaled, before the network or in it: biases may be small
without fault, as those are that training began at 0, or that a centred input leaves."""
ALIKE = 0.9
"""Correlation of answers over the samples, above which the scale does not matter."""
LOST = 0.1
"""What is left of the confidence of a classifier on another scale, below which that is the wrong
one."""


@dataclass(frozen=True)
class WrongScale:
    """Inputs `ratio` times as large as the layer `layer` expects, or as small.

    `plain`: an image, sound or spectrum, or the network begins with a scaler; a table of features,
    which no window slides over, may have any scale else. `offset`: the ratio is to what a scaler
    subtracts. `rebuilt`: to the scale at which that output rebuilds the input. `alike`: the answers
    hardly depend on the scale, but ranges do.
    """

    name: str
    layer: str
    ratio: float
    largest: float
    pixels: bool
    plain: bool
    offset: bool = False
    rebuilt: str = ""
    alike: bool = False

    def __str__(self) -> str:
        size = f"{self.ratio:,.0f}" if self.ratio > 1 else f"{self.ratio:.2g}"
        wrong = "large" if self.ratio > 1 else "small"
        why = (
            f"In '{self.layer}', the first layer with a bias, the weighted sum is {size} times the "
            "bias (trained models: 0.4 to 15)"
        )
        if self.alike:
            return (
                f"input '{self.name}' may be wrongly scaled: its values are up to "
                f"{self.largest:.4g}. {why}. The answers hardly depend on the scale, but the "
                "ranges do: inputs on the device must have the scale of these samples"
            )
        why += ", and the scale changes the answers"
        if self.offset:
            why = f"They are {size} times what the scaler in front of '{self.layer}' subtracts"
        if self.rebuilt:
            way = "divided" if self.ratio > 1 else "multiplied"
            why = f"Output '{self.rebuilt}' rebuilds them only if they are {way} by {STEP:.0f}"
        seen = (
            f"input '{self.name}' looks wrongly scaled: its values (up to {self.largest:.4g}) are "
            f"too {wrong}. {why}"
        )
        if self.pixels:
            return f"{seen}. These are pixels from 0 to 255: divide them by 255, or set --scale"
        return f"{seen}. Preprocess the samples as in training (scale, mean, std)"


def wrong_scale(graph: Graph, samples: Sequence[Mapping[str, Array]]) -> WrongScale | None:
    """The first input of the float `graph` whose samples are plainly too large or too small, else
    the first one whose scale is odd but hardly changes the answers."""
    unsure: WrongScale | None = None
    for port in graph.inputs:
        if (wrong := _not_rebuilt(graph, port, samples)) is not None:
            return wrong
        first = _first_of(graph, port)
        if first is None:
            continue
        inputs = [s[port.name] for s in samples]
        largest = max(float(np.abs(x).max()) for x in inputs)
        real = port.value.dtype == FLOAT  # lengths and indices are on no scale
        beside = _beside_offset(first.graph, port, inputs) if first.scaled and real else None
        if beside and not SMALLEST <= beside <= LARGEST:
            return WrongScale(port.name, first.name, beside, largest, False, True, True)
        if first.bias is None or (beside and len(port.shape) <= 2):
            continue  # as the scaler expects them, however little they vary
        made = [list(open_once(first.graph).run({port.name: x}).values()) for x in inputs]
        ratio = median([_rms(m[0]) for m in made]) / _rms(first.bias)  # one may be an outlier
        if SMALLEST < ratio < LARGEST or not ratio or not np.isfinite(ratio):
            continue
        raw = largest > SMALL_VALUES and _are_whole(inputs, largest)
        if 1 < ratio < _largest(first.graph.nodes[-1], first.bias) and not raw:
            continue
        factor = 1 / STEP if ratio > 1 else STEP
        given, scaled = (_answers(graph, samples, port, by) for by in (1.0, factor))
        if len(graph.outputs) == 1 and _confidence(scaled) < LOST * _confidence(given):
            continue
        if (scaled == scaled[0]).all():  # one sample, or all alike: that says nothing
            continue
        read = [m[-1] for m in made] if first.scaled else inputs
        if ratio > 1 and max(float(np.abs(x).max()) for x in read) <= SMALL_VALUES:
            continue
        pixels = ratio > 1 and _are_pixels(inputs, largest)
        found = WrongScale(port.name, first.name, ratio, largest, pixels, plain=True)
        if _alike(given, scaled):
            unsure = unsure or replace(found, plain=False, alike=True)
            continue
        return replace(found, plain=len(port.shape) > 2 or first.scaled or first.slides)
    return unsure


def _not_rebuilt(
    graph: Graph, port: Port, samples: Sequence[Mapping[str, Array]]
) -> WrongScale | None:
    """Of an input that an output rebuilds on another scale only."""
    found = rebuilt_at_scale(graph, port, samples, (1 / STEP, STEP))
    if found is None:
        return None
    (factor, output), inputs = found, [s[port.name] for s in samples]
    largest = max(float(np.abs(x).max()) for x in inputs)
    pixels = factor < 1 and _are_pixels(inputs, largest)
    return WrongScale(port.name, "", 1 / factor, largest, pixels, plain=True, rebuilt=output)


def _are_whole(inputs: Sequence[Array], largest: float) -> bool:
    """Whether these are whole numbers, but for the rounding of float32 where they were divided and
    multiplied again."""
    return all(bool(np.abs(x - np.rint(x)).max() <= FLOAT_ERROR * largest) for x in inputs)


def _are_pixels(inputs: Sequence[Array], largest: float) -> bool:
    known = 127 < largest <= 255 and min(float(x.min()) for x in inputs) >= 0
    return known and _are_whole(inputs, largest)


def _largest(layer: Node, bias: Array) -> float:
    """What the sums of a layer may be over its bias, unless the inputs are pixels or samples of
    sound as they were recorded, which are whole numbers."""
    weight = _constant(layer, definition(layer.op).weight)
    fan_in = weight.size / bias.size if weight is not None else 1.0
    if _rms(bias) > INITIAL / np.sqrt(3 * fan_in):
        return LARGEST
    return max(LARGEST, LARGEST_OF_INITIAL * fan_in)


def _beside_offset(layer: Graph, port: Port, inputs: Sequence[Array]) -> float | None:
    """How large the inputs are beside what a scaler subtracts: the median of those from which it
    takes more than a deviation; None if that is less than half of them."""
    session = open_once(layer)

    def behind(x: Array) -> NDArray[np.float64]:
        return list(session.run({port.name: x}).values())[-1].astype(np.float64).ravel()

    at_zero = behind(np.zeros_like(inputs[0]))
    slope = behind(np.ones_like(inputs[0])) - at_zero
    known = (np.abs(at_zero) > 1) & (slope != 0)
    if 2 * known.sum() < known.size:
        return None
    squares = np.mean([np.square(behind(x) - at_zero) for x in inputs], axis=0)
    return median(np.sqrt(squares[known]) / np.abs(at_zero[known]))


def _rms(x: NDArray[np.floating]) -> float:
    return float(np.sqrt(np.mean(np.square(x, dtype=np.float64))))


_SCALES = (BinaryFn.Add, BinaryFn.Sub, BinaryFn.Mul, BinaryFn.Div)


@dataclass(frozen=True)
class _Way:
    """From an input to a tensor, through what is linear: what scales it, then layers without bias
    and clamp, as a depthwise convolution before a pointwise one. `single`: nothing else reads any
    of the tensors."""

    end: Value
    nodes: tuple[Node, ...] = ()
    scaled: bool = False
    passed: bool = False
    single: bool = True

    def through(self, node: Node, single: bool) -> _Way | None:
        """The way on through a node, if that belongs to one."""
        op = definition(node.op)
        if len(node.dynamic_inputs) != 1:
            return None
        layer = op.weight is not None
        scales = computes(node, *_SCALES) and not (layer or self.passed)
        if layer and (self.scaled or node.input(0) is not self.end or not _linear(node)):
            return None
        if not (layer or scales or op.shared):
            return None
        scaled, passed = self.scaled or scales, self.passed or layer
        return _Way(node.output, (*self.nodes, node), scaled, passed, single)


@dataclass(frozen=True)
class _First:
    """What an input meets first: the layer that is named, `graph` up to it, without its bias and
    clamp, and what that reads behind a scaler (the last output); and the bias. A scaler alone has
    none: `graph` ends with it, and the name is that of what reads it."""

    name: str
    graph: Graph
    bias: Array | None
    scaled: bool

    @property
    def slides(self) -> bool:
        """Whether its weights are a window that slides over the input."""
        layer = self.graph.nodes[-1]
        weight = _constant(layer, definition(layer.op).weight)
        return self.bias is not None and weight is not None and weight.ndim > 2


def _first_of(graph: Graph, port: Port) -> _First | None:
    """The first node with weights and a bias behind the input, if nothing else reads that, else the
    scaler that the network begins with, if it does. Beside a skip connection, or in front of
    several layers, a bias says less: a normalization behind one of them makes up for any scale."""
    readers, alone = graph.consumers(), None
    ways = [_Way(port.value)]
    for way in ways:
        users = readers.get(way.end, [])
        single = way.single and len(users) == 1
        for node in users:
            op = definition(node.op)
            bias = None if op.weight is None else _constant(node, op.bias)
            has_bias = bias is not None and bias.any()
            if has_bias and single and node.input(0) is way.end:
                bare = _bare(node, op.bias)
                shown = [bare.output, way.end] if way.scaled else [bare.output]
                return _First(node.name, _part(port, [*way.nodes, bare], shown), bias, way.scaled)
            further = None if has_bias else way.through(node, single)
            if further is not None:
                ways.append(further)
            elif way.scaled and alone is None:
                alone = _First(node.name, _part(port, way.nodes, [way.end]), None, True)
    return alone


def _part(port: Port, nodes: Sequence[Node], shown: Sequence[Value]) -> Graph:
    ports = [Port(v.name, v, port.onnx_dtype, v.shape) for v in shown]
    return copy_graph(Graph(list(nodes), [port], ports))


def _linear(node: Node) -> bool:
    """Whether a node with weights has no clamp."""
    low, high = (node.attrs.get(n, b) for n, b in (("act_min", -np.inf), ("act_max", np.inf)))
    return definition(node.op).heavy and low == -np.inf and high == np.inf


def _constant(node: Node, at: int | None) -> Array | None:
    v: Value | None = node.inputs[at] if at is not None and at < len(node.inputs) else None
    return None if v is None else v.const


def _bare(node: Node, bias: int | None) -> Node:
    clamp = {"act_min": -np.inf, "act_max": np.inf}
    attrs = {k: clamp.get(k, v) for k, v in node.attrs.items()}
    inputs = [None if i == bias else v for i, v in enumerate(node.inputs)]
    return Node(node.op, inputs, [node.output], attrs, node.name)


def _confidence(rows: NDArray[np.float64]) -> float:
    """By how much the best of n classes exceeds 1 / n on average; 0 if these are no probabilities
    of classes."""
    if rows.shape[1] < 2 or rows.min() < 0 or np.abs(rows.sum(axis=1) - 1).max() > 1e-3:
        return 0.0
    return float(rows.max(axis=1).mean() - 1 / rows.shape[1])


def _answers(
    graph: Graph, samples: Sequence[Mapping[str, Array]], port: Port, factor: float
) -> NDArray[np.float64]:
    """The outputs of each sample with the input times a factor; of a sum with an input what is
    added."""
    added = added_to_inputs(graph)
    shown = [
        Port(v.name, v, p.onnx_dtype, v.shape)
        for p in graph.outputs
        for v in [added.get(p.value, p.value)]
    ]
    session, rows = open_once(Graph(graph.nodes, graph.inputs, shown)), []
    for s in samples:
        scaled = np.asarray(s[port.name] * np.float32(factor), np.float32)
        got = session.run({**s, port.name: scaled})
        rows.append(np.concatenate([a.astype(np.float64).reshape(-1) for a in got.values()]))
    return np.stack(rows)


def _alike(a: NDArray[np.float64], b: NDArray[np.float64]) -> bool:
    """Whether answers on two scales vary over the samples alike."""
    with np.errstate(invalid="ignore"):  # an exponential of what is too large is infinite
        a, b = a - a.mean(axis=0), b - b.mean(axis=0)
        if a.shape[1] <= FEW_NUMBERS:  # a count of thousands beside logits
            spread = a.std(axis=0)
            a, b = (np.divide(x, spread, out=np.zeros_like(x), where=spread > 0) for x in (a, b))
        power = float(np.sqrt(np.sum(a * a) * np.sum(b * b)))
        return power > 0 and float(np.sum(a * b)) / power > ALIKE

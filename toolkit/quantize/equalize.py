"""Channels of a tensor made alike in size, so that its one scale serves all of them.

Between two nodes with weights every channel of a tensor may be scaled: the producer's weights and
bias by s, the readers' weights by 1/s. After Nagel et al. 2019 (arXiv:1906.04721), section 4.1, but
by what the samples show: with a weight scale for each output channel, as here, the producer's
weights may have any size, and what counts is the tensor and the readers' weights.

s is a power of two, 1 at least. So the float model computes the same bits, and the tensors between
the two nodes are its own, channel by channel times s.
"""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from zlib import compress, decompress

import numpy as np
from numpy.typing import NDArray

from ..build import build_file
from ..ir import Array, Graph, Node, Value, constant
from ..ops import definition
from ..passes.affine import input_factors
from ..runtime import Session
from .precision import INT8
from .prepare import copied
from .qparams import LEVELS

Reals = NDArray[np.float64]
Exponents = Mapping[str, tuple[int, ...]]
"""log2(s) of each channel, by the name of the tensor that a node with weights makes."""

LARGEST = 8
STRENGTHS = (0.0, 0.25, 0.5, 0.75, 1.0)
"""How far sizes are made alike: 1 gives every channel the size of the largest."""

_KEEPS_CHANNELS = frozenset({"LeakyRelu", "PRelu", "MaxPool2d", "AvgPool2d"})
"""f(s x) = s f(x) for s > 0, channel by channel."""


@dataclass(frozen=True)
class Site:
    """The node that makes a tensor, and the nodes that multiply it with weights in the end."""

    maker: Node
    readers: tuple[Node, ...]


def find_sites(graph: Graph) -> list[Site]:
    """Where channels may be scaled, in order of execution: not before a clamp that would move."""
    readers, outputs = graph.consumers(), graph.output_values()
    sites: list[Site] = []
    for node in graph.nodes:
        if not has_weights(node) or not _homogeneous(node):
            continue
        found = linear_readers(node.output, readers, outputs, _passes_on)
        if found:
            sites.append(Site(node, tuple(found)))
    return sites


def has_weights(node: Node) -> bool:
    """Whether a node makes a float tensor with weights."""
    op = definition(node.op)
    return op.weight is not None and node.output.dtype == np.float32


def _homogeneous(node: Node) -> bool:
    low, high = node.attrs.get("act_min", -np.inf), node.attrs.get("act_max", np.inf)
    return low in (0.0, -np.inf) and bool(high == np.inf)


def linear_readers(
    v: Value,
    consumers: Mapping[Value, list[Node]],
    outputs: set[Value],
    passes_on: Callable[[Node], bool],
) -> list[Node] | None:
    """The nodes with weights that `v` ends in; None if it ends in anything else too.

    `passes_on` says of a node that reads `v` once whether its output is `v` in all that matters.
    """
    found: list[Node] = []
    if v in outputs:
        return None
    for node in consumers.get(v, []):
        if has_weights(node) and node.input(0) is v:
            found.append(node)
        elif node.input(0) is v and node.inputs.count(v) == 1 and passes_on(node):
            beyond = linear_readers(node.output, consumers, outputs, passes_on)
            if beyond is None:
                return None
            found += beyond
        else:
            return None
    return found


def _passes_on(node: Node) -> bool:
    if node.op == "Reshape":
        return node.input(0).shape[-1:] == node.output.shape[-1:]
    return node.op in _KEEPS_CHANNELS


def find_exponents(graph: Graph, samples: Iterable[Mapping[str, Array]]) -> Exponents:
    """Of each site the exponents that lose least, by an estimate; sites that gain nothing left out.

    The estimate is the noise at the readers' outputs: that of the tensor's rounding and that of
    their weights'.
    """
    sites = find_sites(graph)
    sizes = _sizes(graph, {s.maker.output.name for s in sites}, samples)
    found: dict[str, tuple[int, ...]] = {}
    for site in sites:
        name = site.maker.output.name
        peak, power = sizes[name]
        offers = [_exponents(peak, a) for a in STRENGTHS]
        best = min(offers, key=lambda e: _noise(site, np.exp2(e), peak, power))
        if best.any():
            found[name] = tuple(int(e) for e in best)
    return found


def _exponents(peak: Reals, strength: float) -> NDArray[np.int64]:
    """Those that bring no channel above the largest; a channel without values is left as it is."""
    top = peak.max(initial=0.0)
    ratio = np.where(peak > 0, top / np.where(peak > 0, peak, 1), 1.0)
    result: NDArray[np.int64] = np.floor(strength * np.log2(ratio) + 1e-9).astype(np.int64)
    return np.minimum(result, LARGEST)


def _noise(site: Site, s: Reals, peak: Reals, power: Reals) -> float:
    step, total = float((peak * s).max()) / LEVELS[INT8], 0.0
    for node in site.readers:
        weight = _weight(node).const
        assert weight is not None
        w = weight.astype(np.float64) / input_factors(s, node)
        rows = np.abs(w).reshape(len(w), -1).max(axis=1) / 127
        inputs = np.broadcast_to(input_factors(power * s * s, node), w.shape)
        total += step**2 * float((w * w).sum())
        total += float((rows**2 * inputs.reshape(len(w), -1).sum(axis=1)).sum())
    return total


def _sizes(
    graph: Graph, names: set[str], samples: Iterable[Mapping[str, Array]]
) -> dict[str, tuple[Reals, Reals]]:
    """The largest absolute value and the mean square of each channel of these tensors."""
    session = Session(build_file(graph))
    peak: dict[str, Reals] = {}
    power: dict[str, Reals] = {}

    def see(_: int, name: str, array: Array) -> None:
        if name in names:
            x = array.reshape(-1, array.shape[-1]).astype(np.float64)
            peak[name] = np.maximum(np.abs(x).max(axis=0), peak.get(name, 0.0))
            power[name] = (x * x).mean(axis=0) + power.get(name, 0.0)

    count = 0
    for sample in samples:
        session.run_layers(sample, see)
        count += 1
    return {name: (peak[name], power[name] / count) for name in peak}


def _weight(node: Node) -> Value:
    at = definition(node.op).weight
    assert at is not None
    return node.input(at)


def equalized(graph: Graph, exponents: Exponents) -> Graph:
    """A copy of the float `graph` with these channels scaled; its outputs keep their bits.

    Exponents of tensors that are no site, or have other channels, raise ValueError.
    """
    copy = copied(graph)
    sites = {s.maker.output.name: s for s in find_sites(copy)}
    for name, exponent in exponents.items():
        site = sites.get(name)
        if site is None or site.maker.output.shape[-1] != len(exponent):
            raise ValueError(f"'{name}' is no tensor of {len(exponent)} channels to be scaled")
        s = np.exp2(np.array(exponent, np.float64))
        _scale_rows(site.maker, s)
        for node in site.readers:
            _rescale(node, definition(node.op).weight, 1 / input_factors(s, node))
    return copy


def _scale_rows(node: Node, s: Reals) -> None:
    op = definition(node.op)
    _rescale(node, op.weight, s.reshape(-1, *[1] * (len(_weight(node).shape) - 1)))
    if op.bias is not None and op.bias < len(node.inputs):
        _rescale(node, op.bias, s)


def _rescale(node: Node, at: int | None, factor: Reals) -> None:
    """Give input `at`, a constant that others may read too, a scaled copy."""
    v = None if at is None else node.inputs[at]
    if v is not None and at is not None:
        assert v.const is not None
        node.inputs[at] = constant((v.const * factor).astype(np.float32), v.name)


def to_text(channels: Mapping[str, Sequence[float]]) -> str:
    """The exponents, or other numbers by tensor and channel, small and printable."""
    plain = json.dumps({k: list(v) for k, v in channels.items()}, separators=(",", ":"))
    return b64encode(compress(plain.encode(), 9)).decode()


def from_text(text: str) -> Exponents:
    """The exponents that `to_text` wrote. Raises ValueError for anything else."""
    found = numbers_from_text(text, "the exponents of an equalization")
    return {name: tuple(int(e) for e in v) for name, v in found.items()}


def numbers_from_text(text: str, what: str) -> dict[str, tuple[float, ...]]:
    """The numbers that `to_text` wrote. Raises ValueError, for no `what`, for anything else."""
    try:
        found = json.loads(decompress(b64decode(text)))
        return {str(k): tuple(float(e) for e in v) for k, v in found.items()}
    except Exception as why:  # base64, zlib and json each have their own
        raise ValueError(f"not {what}: {why}") from why

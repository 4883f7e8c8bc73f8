"""Options and decisions of a quantization."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from ....calibration import OBSERVERS as FIXED
from ...numerics import WEIGHT_TYPES, Precision
from ..weights.layer_weights import KeptWeights
from ..weights.rate_distortion import Rate
from ..weights.weight_quantizer import QuantizedWeights, WeightFormat

OBSERVERS: tuple[str, ...] = ("auto", *FIXED)

WEIGHTS: Mapping[str, WeightFormat] = {
    f"int{w.bits}" + (f"-group{group}" if group else ""): WeightFormat(w.bits, group)
    for w in WEIGHT_TYPES.values()
    for group in (0, *w.groups)
}
"""How the weights of convolutions and FullyConnected may be held."""

Rounding = Literal["auto", "nearest", "gptq", "adaround"]
ROUNDINGS: tuple[Rounding, ...] = get_args(Rounding)
METHODS: tuple[Rounding, ...] = ("gptq", "adaround")
"""The methods that optimize the weights of each layer on samples; auto tries the first."""

Effort = Literal["fast", "default", "best"]
EFFORTS: tuple[Effort, ...] = get_args(Effort)

Range = tuple[float, float]
Ranges = Mapping[str, Range]
RoundedWeights = Mapping[tuple[str, int], QuantizedWeights]
"""Weights by the output name of their node, and their bits."""


@dataclass(frozen=True)
class Options:
    """How `quantize_graph` turns ranges into integers.

    search_scales  choose the weight scale of each channel by squared error, not by its maximum
    wide           tensors in int16; the nodes that compute and read them are int16 too if possible
    precision      precision of a node by the name of its output: "float32", or "int4" weights (also
                   with int16 activations)
    spare          double the int16 ranges of what tables read, too
    means          channel means of tensors that weights multiply, for bias correction
    weight_group   number of weights below 8 bits of an output channel that share a multiplier; 0:
                   no multipliers
    ungrouped      outputs of nodes whose weights never have multipliers
    rounded        weights other than the nearest
    kept           scales and integers of int8 weights in an older file, by the node's output
    rates          coarseness of 8-bit weights for an entropy code, by the node's output; weights
                   without a rate are not coarser
    """

    search_scales: bool = False
    wide: frozenset[str] = frozenset()
    precision: Mapping[str, Precision] = field(default_factory=dict)
    spare: bool = False
    means: Mapping[str, NDArray[np.float64]] = field(default_factory=dict)
    weight_group: int = 0
    ungrouped: frozenset[str] = frozenset()
    rounded: RoundedWeights = field(default_factory=dict)
    kept: Mapping[str, KeptWeights] = field(default_factory=dict)
    rates: Mapping[str, Rate] = field(default_factory=dict)


@dataclass(frozen=True)
class Decision:
    """A change of a node's precision or quantization that users are told about."""

    node: str  # the ONNX node's name, or its first output if it has none
    op: str
    what: str  # begins with "kept float", "requantized", "made 16x8", ...
    why: str

    def __str__(self) -> str:
        return f"{self.op} '{self.node}': {self.what}: {self.why}"


NAMED = 2


def grouped(decisions: Iterable[Decision]) -> list[str]:
    """The decisions in a few lines: equal ones are combined, and some nodes named."""
    alike: dict[tuple[str, str], list[Decision]] = {}
    for d in decisions:
        alike.setdefault((d.what.split("'")[0].strip(), d.why), []).append(d)
    lines = []
    for (what, why), group in alike.items():
        if len(group) == 1:
            lines.append(str(group[0]))
            continue
        names = ", ".join(f"{d.op} '{d.node}'" for d in group[:NAMED])
        more = f" and {len(group) - NAMED} more" if len(group) > NAMED else ""
        lines.append(f"{names}{more}: {what}: {why}")
    return lines

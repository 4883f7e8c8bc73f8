"""What is said of a quantized file's loss: each layer's part, why, and what would help."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from ..numerics import INT8, PRECISIONS

WORST = 3
SHARE = 0.02
"""A layer that makes less of the loss than this is not said to cause any."""


@dataclass(frozen=True)
class LayerCost:
    """A tensor that the file rounds. dB are of the float signal to the error, on `samples`.

    operator, dtype       as `edgekit inspect` has them; the operator of an input is "Input"
    sqnr_db               in the file: what has come together there
    weights_only_db, activations_only_db   likewise, only weights or only activations rounded
    local_db              this layer alone, on float inputs: its weights and its output rounded
    local_weights_db, local_activations_db  of that, its weights or its output alone
    output_db             at the model's outputs, only this layer rounded; None if not run
    share                 of the loss at the outputs, as if layers' errors added up; where only some
                          were run, of the loss of all if that is more than theirs; None likewise
    low, high             the real values of the first and the last step
    saturation            share of values half a step or more beyond the range
    range_use, core_use   part of the steps that all values, or 99.9 % of them, spread over
    outlier_ratio         magnitude of the largest channel over the median one
    dead_channels, lost_channels  that never vary, seen more than once; that vary less than one step
    cause, seen           why, by runs in which it is removed or, where none were made, by the facts
    advice, gain_db       what helps, and what the outputs gain by it; empty and None where no run
                          has shown it
    """

    name: str
    operator: str
    dtype: str
    sqnr_db: float | None
    weights_only_db: float | None
    activations_only_db: float | None
    local_db: float | None
    local_weights_db: float | None
    local_activations_db: float | None
    output_db: float | None
    share: float | None
    low: float
    high: float
    saturation: float
    range_use: float
    core_use: float
    outlier_ratio: float
    dead_channels: int
    lost_channels: int
    cause: str | None = None
    seen: str = ""
    advice: str = ""
    gain_db: float | None = None


@dataclass(frozen=True)
class Explanation:
    """What a file costs at its outputs (SQNR averaged over the evaluation points), and each layer's
    part.

    Every SQNR is of `samples`; of them layers were rounded alone on `alone_samples`, and remedies
    tried on `tried_samples`. `layers` are those that cost the outputs most first. `worst_int16_db`
    is what the outputs gain where the costliest of them that are on int8 get 16-bit activations.
    `sqnr` is that of every tensor in the file, rounded there or not.
    """

    samples: int
    alone_samples: int
    tried_samples: int
    sqnr_db: float
    weights_only_db: float
    activations_only_db: float
    layers: list[LayerCost]
    worst_int16_db: float | None = None
    sqnr: Mapping[str, float | None] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """As documented for --json."""
        told = asdict(self)
        del told["sqnr"]
        return told

    def worst(self, count: int = WORST) -> list[LayerCost]:
        """The layers that cost most and have a cause of their own."""
        named = [c for c in self.layers if c.cause and c.share is not None and c.share >= SHARE]
        return named[:count]

    def worst_narrow(self) -> list[LayerCost]:
        """Those of them whose activations are on 8 bits."""
        of_8_bits = {p for p in PRECISIONS.values() if p.activations == INT8}
        return [c for c in self.worst() if c.dtype in of_8_bits]

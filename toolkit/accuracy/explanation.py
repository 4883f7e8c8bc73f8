"""What is said of a quantized file's loss: each layer's part, why, and what would help."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

WORST = 3
SHARE = 0.02
"""A layer that makes less of the loss than this is not said to cause any."""


@dataclass(frozen=True)
class LayerCost:
    """A tensor that the file rounds. dB are of the float signal to the error, on `samples`.

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
    gain_db               at the outputs, were the cause removed; `measured` by a run, or estimated
                          from `share`
    """

    name: str
    type: str
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
    measured: bool = False


@dataclass(frozen=True)
class Explanation:
    """What a file costs at its outputs (SQNR averaged over the probes), and each layer's part.

    Tensors were watched on `samples`; of them layers were rounded alone on `alone_samples`, and
    remedies tried on `tried_samples`. `layers` are those that cost the outputs most first.
    """

    samples: int
    alone_samples: int
    tried_samples: int
    sqnr_db: float
    weights_only_db: float
    activations_only_db: float
    layers: list[LayerCost]
    worst_int16_db: float | None = None

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    def worst(self, count: int = WORST) -> list[LayerCost]:
        """The layers that cost most and have a cause of their own."""
        named = [c for c in self.layers if c.cause and c.share is not None and c.share >= SHARE]
        return named[:count]

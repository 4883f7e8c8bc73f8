"""What a quantization to int8 is asked for."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from ..errors import UserError
from ..numerics import W8A8
from .ranges.calibration import KEPT_SAMPLES
from .scheme.options import EFFORTS, METHODS, OBSERVERS, ROUNDINGS, WEIGHTS
from .weights.weight_quantizer import WeightFormat

FAST_SAMPLES = 32
BEST_TRIALS = 4


@dataclass(frozen=True)
class QuantizeOptions:
    """`observer` is one of OBSERVERS, `weights` of WEIGHTS, `rounding` of ROUNDINGS, `effort` of
    EFFORTS.

    "fast" does not search: `auto` are min-max ranges and, of weights of 8 bits, the nearest, judged
    on fewer samples. "best" searches longer, and of `auto` tries every method of rounding.

    `plain`: for a configuration that is mostly int16. Channels are not scaled, which int16 does not
    need, and `auto` keeps the nearest weights of 8 bits, for those that are rounded make up for
    errors of int8 too. With weights of 4 bits all are rounded. Raises UserError for an unknown
    name.
    """

    observer: str = "auto"
    weights: str = W8A8
    rounding: str = "auto"
    plain: bool = False
    effort: str = "default"

    def __post_init__(self) -> None:
        _known("observer", self.observer, OBSERVERS)
        _known("weights", self.weights, WEIGHTS)
        _known("rounding", self.rounding, ROUNDINGS)
        _known("effort", self.effort, EFFORTS)

    @property
    def form(self) -> WeightFormat:
        return WEIGHTS[self.weights]

    @property
    def searches(self) -> bool:
        """Whether ranges are searched for tensor by tensor."""
        return self.observer == "auto" and self.effort != "fast"

    @property
    def first_observer(self) -> str:
        """By which ranges are fixed before any are searched for."""
        return "minmax" if self.observer == "auto" else self.observer

    @property
    def trials(self) -> int:
        """How many times as many ranges are tried as by default."""
        return BEST_TRIALS if self.effort == "best" else 1

    @property
    def kept(self) -> int:
        """Samples that candidates are judged on, at most."""
        return FAST_SAMPLES if self.effort == "fast" else KEPT_SAMPLES

    @property
    def methods(self) -> tuple[str, ...]:
        """How weights are rounded that are fitted to samples; the best of several is taken."""
        if self.rounding in METHODS:
            return (self.rounding,)
        return METHODS if self.effort == "best" else METHODS[:1]

    @property
    def may_round(self) -> bool:
        """Whether weights other than the nearest may be taken."""
        plain = self.plain or self.effort == "fast"
        if plain and self.rounding == "auto" and self.form.bits == 8:
            return False
        return self.rounding != "nearest"


def _known(what: str, name: str, names: Collection[str]) -> None:
    if name not in names:
        raise UserError(f"no {what} '{name}'; there are: {', '.join(names)}")

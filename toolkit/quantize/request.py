"""What a quantization to int8 is asked for."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any

from ...calibration import BY_EXTREMES
from ..errors import UserError
from ..numerics import W8A8
from .like import Like
from .option import check_options, option
from .ranges.calibration import KEPT_SAMPLES
from .scheme.options import EFFORTS, METHODS, OBSERVERS, ROUNDINGS, WEIGHTS
from .weights.weight_quantizer import WeightFormat

FAST_SAMPLES = 32
FEW_SAMPLES = 4
BEST_TRIALS = 4


@dataclass(frozen=True, kw_only=True)
class NumericOptions:
    """How a model becomes integers. Raises UserError for an unknown name."""

    observer: str = field(
        default="auto",
        metadata=option(
            "Range observer. auto: per tensor, the range with the best output SQNR.",
            choices=OBSERVERS,
            recorded="always",
        ),
    )
    weights: str = field(
        default=W8A8,
        metadata=option(
            "Weight type of convolutions and Gemm. groupN: one scale per N consecutive weights. "
            "Depthwise, first and very small layers stay 8-bit.",
            choices=WEIGHTS,
            recorded="always",
        ),
    )
    rounding: str = field(
        default="auto",
        metadata=option(
            "Weight rounding: nearest, gptq (minimizes the layer's output error) or adaround "
            "(after the activation; slower). auto: gptq unless it reduces SQNR.",
            choices=ROUNDINGS,
            recorded="always",
        ),
    )
    effort: str = field(
        default="default",
        metadata=option(
            "Search effort. fast: min-max ranges and nearest weights, evaluated on at most 32 "
            "samples, layers not explained. best: four times as many ranges tried, adaround as "
            "well as gptq.",
            choices=EFFORTS,
            recorded="changed",
        ),
    )

    def __post_init__(self) -> None:
        check_options(self)

    @property
    def numeric(self) -> dict[str, Any]:
        """These options by name, without those of a class derived from this one."""
        return {each.name: getattr(self, each.name) for each in fields(NumericOptions)}


@dataclass(frozen=True, kw_only=True)
class QuantizeOptions(NumericOptions):
    """What each step of a quantization takes of the options.

    "fast" does not search: `auto` are min-max ranges and, of weights of 8 bits, the nearest, judged
    on fewer samples. "best" searches longer, and of `auto` tries every method of rounding.

    `plain`: for a configuration that is mostly int16. Channels are not scaled, which int16 does not
    need, and `auto` keeps the nearest weights of 8 bits, for those that are rounded make up for
    errors of int8 too. With weights of 4 bits all are rounded.

    `like`: ranges and scales are those of an older file, and integers as far as they serve.
    """

    plain: bool = False
    like: Like | None = None

    def check_given(self) -> None:
        """Raises UserError where weights that the model brings would have to be rounded again."""
        if self.form.bits < 8:
            raise UserError(
                "the model is already quantized, and its weights are not rounded again to "
                f"{self.weights}; omit weights={self.weights}, or use the float model"
            )

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
    def histograms(self) -> bool:
        """Whether ranges are made by more than extremes."""
        return self.searches or self.first_observer not in BY_EXTREMES

    @property
    def trials(self) -> int:
        """How many times as many ranges are tried as by default."""
        return BEST_TRIALS if self.effort == "best" else 1

    @property
    def kept(self) -> int:
        """Samples that candidates are judged on, at most."""
        return FAST_SAMPLES if self.effort == "fast" else KEPT_SAMPLES

    @property
    def looked_at(self) -> int:
        """Samples that tell which groups of an equalization matter, at most."""
        return FEW_SAMPLES // 2 if self.effort == "fast" else FEW_SAMPLES

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

"""Options of a quantization to int8."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any

from ...calibration import BY_EXTREMES
from ..errors import UserError
from ..numerics import W8A8
from .like import Like
from .option import check_options, option
from .outputs.kept_samples import KEPT_SAMPLES
from .scheme.options import EFFORTS, METHODS, OBSERVERS, ROUNDINGS, WEIGHTS
from .weights.weight_quantizer import WeightFormat

FAST_SAMPLES = 32
FEW_SAMPLES = 4
"""Samples on which the noise of single tensors is measured, to select what is equalized or
absorbed."""
BEST_TRIALS = 4


@dataclass(frozen=True, kw_only=True)
class NumericOptions:
    """Numeric options of a quantization. Raises UserError for an unknown name."""

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
            "samples, no bias absorption, layers not explained. best: four times as many ranges "
            "tried, adaround as well as gptq.",
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
    """The options for each step of a quantization.

    Effort "fast" does not search: `auto` means min-max ranges and nearest 8-bit weights, evaluated
    on fewer samples; biases are not absorbed, and channels not equalized where int8 has 26 dB
    without. "best" searches longer and tries every rounding method for `auto`.

    `plain`: for a configuration that is mostly int16. Channels are neither equalized nor shifted,
    which int16 does not need, and `auto` keeps the nearest 8-bit weights, because fitted weights
    also compensate for errors of int8 activations. With 4-bit weights all weights are fitted.

    `like`: ranges and scales of an older file, and its integers where possible.

    `promotes`: `keep_floor` follows, which may promote tensors before weights are rounded: then the
    rounding of 8-bit weights waits (Quantized.finish), if `rounding` is `auto` and has one method.
    """

    plain: bool = False
    promotes: bool = False
    like: Like | None = None

    def check_given(self) -> None:
        """Raises UserError if the weights of a quantized model would have to be rounded again."""
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
        """Whether ranges are searched tensor by tensor."""
        return self.observer == "auto" and not self.is_first_look

    @property
    def is_first_look(self) -> bool:
        """Whether little is tried, and only where int8 as it is has less than 26 dB."""
        return self.effort == "fast"

    @property
    def changes_channels(self) -> bool:
        """Whether channels may be scaled or shifted: not where an older file says how."""
        return not self.plain and self.like is None

    @property
    def absorbs(self) -> bool:
        """Whether biases may be absorbed: few samples do not show the minima of channels."""
        return not self.is_first_look

    @property
    def first_observer(self) -> str:
        """The observer for the ranges before the search."""
        return "minmax" if self.observer == "auto" else self.observer

    @property
    def histograms(self) -> bool:
        """Whether ranges need histograms, not only extremes."""
        return self.searches or self.first_observer not in BY_EXTREMES

    @property
    def keeps_ends(self) -> bool:
        """Whether the extremes of channels are kept with samples, which takes memory: of a few, if
        the calibration of scaled channels follows from them."""
        return self.is_first_look and not self.histograms

    @property
    def trials(self) -> int:
        """Number of trials of the range search relative to the default."""
        return BEST_TRIALS if self.effort == "best" else 1

    @property
    def kept(self) -> int:
        """Maximum number of samples for the evaluation of candidates."""
        return FAST_SAMPLES if self.is_first_look else KEPT_SAMPLES

    @property
    def methods(self) -> tuple[str, ...]:
        """Rounding methods that fit weights to samples; the best of several is used."""
        if self.rounding in METHODS:
            return (self.rounding,)
        return METHODS if self.effort == "best" else METHODS[:1]

    @property
    def may_round(self) -> bool:
        """Whether weights other than the nearest are allowed."""
        plain = self.plain or self.is_first_look
        if plain and self.rounding == "auto" and self.form.bits == 8:
            return False
        return self.rounding != "nearest"

    @property
    def waits(self) -> bool:
        """Whether weights are rounded only once it is known that no tensors are promoted before."""
        automatic = self.rounding == "auto" and len(self.methods) == 1 and self.form.bits == 8
        return self.promotes and self.may_round and automatic

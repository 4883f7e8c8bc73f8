"""What a quantization to int8 is asked for."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from ..errors import UserError
from .scheme.options import METHODS, OBSERVERS, ROUNDINGS, WEIGHTS
from .weights.weight_quantizer import WeightFormat


@dataclass(frozen=True)
class QuantizeOptions:
    """`observer` is one of OBSERVERS, `weights` of WEIGHTS, `rounding` of ROUNDINGS.

    `plain`: for a configuration that is mostly int16. Channels are not scaled, which int16 does not
    need, and `auto` keeps the nearest weights of 8 bits, for those that are rounded make up for
    errors of int8 too. With weights of 4 bits all are rounded. Raises UserError for an unknown
    name.
    """

    observer: str = "auto"
    weights: str = "int8"
    rounding: str = "auto"
    plain: bool = False

    def __post_init__(self) -> None:
        _known("observer", self.observer, OBSERVERS)
        _known("weights", self.weights, WEIGHTS)
        _known("rounding", self.rounding, ROUNDINGS)

    @property
    def form(self) -> WeightFormat:
        return WEIGHTS[self.weights]

    @property
    def searches(self) -> bool:
        """Whether ranges are searched for tensor by tensor."""
        return self.observer == "auto"

    @property
    def method(self) -> str:
        """How weights are rounded that are fitted to samples."""
        return self.rounding if self.rounding in METHODS else METHODS[0]

    @property
    def may_round(self) -> bool:
        """Whether weights other than the nearest may be taken."""
        if self.plain and self.rounding == "auto" and self.form.bits == 8:
            return False
        return self.rounding != "nearest"


def _known(what: str, name: str, names: Collection[str]) -> None:
    if name not in names:
        raise UserError(f"no {what} '{name}'; there are: {', '.join(names)}")

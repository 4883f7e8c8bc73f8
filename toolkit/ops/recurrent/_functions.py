"""What recurrent cells apply to their gates: ONNX's activations in double precision."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...format.schema import RecurrentFn
from ..elementwise.unary import expit

Real = NDArray[np.float64]


@dataclass(frozen=True)
class Kind:
    """An activation and the defaults of alpha and beta; None where it has no such attribute.

    `lowest` and `highest` bound the results, whatever alpha and beta are.
    """

    of: Callable[[Real, float, float], Real]
    alpha: float | None = None
    beta: float | None = None
    lowest: float = -np.inf
    highest: float = np.inf


KINDS: dict[RecurrentFn, Kind] = {
    RecurrentFn.Sigmoid: Kind(lambda x, a, b: expit(x), lowest=0, highest=1),
    RecurrentFn.Tanh: Kind(lambda x, a, b: np.tanh(x), lowest=-1, highest=1),
    RecurrentFn.Relu: Kind(lambda x, a, b: np.maximum(x, 0)),
    RecurrentFn.Affine: Kind(lambda x, a, b: a * x + b, 1.0, 0.0),
    RecurrentFn.LeakyRelu: Kind(lambda x, a, b: np.where(x < 0, a * x, x), 0.01),
    RecurrentFn.ThresholdedRelu: Kind(lambda x, a, b: np.where(x > a, x, 0), 1.0),
    RecurrentFn.ScaledTanh: Kind(lambda x, a, b: a * np.tanh(b * x), 1.0, 1.0),
    RecurrentFn.HardSigmoid: Kind(
        lambda x, a, b: np.clip(a * x + b, 0, 1), 0.2, 0.5, lowest=0, highest=1
    ),
    RecurrentFn.Elu: Kind(lambda x, a, b: np.where(x < 0, a * np.expm1(np.minimum(x, 0)), x), 1.0),
    RecurrentFn.Softsign: Kind(lambda x, a, b: x / (1 + np.abs(x)), lowest=-1, highest=1),
    RecurrentFn.Softplus: Kind(lambda x, a, b: np.logaddexp(0.0, x)),
}


@dataclass(frozen=True)
class CellFunction:
    """One of KINDS with its attributes, 0 where it has none."""

    fn: RecurrentFn
    alpha: float = 0.0
    beta: float = 0.0

    @property
    def kind(self) -> Kind:
        return KINDS[self.fn]

    def __call__(self, x: Real) -> Real:
        return self.kind.of(x, self.alpha, self.beta)

    def within(self, lowest: float, highest: float) -> bool:
        """Whether no result is outside."""
        return lowest <= self.kind.lowest and self.kind.highest <= highest


DEFAULTS: dict[str, tuple[str, ...]] = {
    "RNN": ("Tanh",),
    "GRU": ("Sigmoid", "Tanh"),
    "LSTM": ("Sigmoid", "Tanh", "Tanh"),
}


def cell_functions(
    names: Sequence[str], alphas: Sequence[float], betas: Sequence[float]
) -> list[CellFunction]:
    """The functions called so, in whatever case; alphas and betas go to those that take any, in
    order. Raises ValueError for a name that ONNX does not know.
    """
    known = {fn.name.lower(): fn for fn in RecurrentFn}
    left, found = (list(alphas), list(betas)), []
    for name in names:
        if name.lower() not in known:
            raise ValueError(f"its activation '{name}' is unknown")
        fn = known[name.lower()]
        defaults = KINDS[fn].alpha, KINDS[fn].beta
        given = [
            0.0 if default is None else float(values.pop(0)) if values else default
            for default, values in zip(defaults, left, strict=True)
        ]
        found.append(CellFunction(fn, *given))
    return found

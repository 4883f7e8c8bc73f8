"""How far results are from the float model's, over any number of samples in constant memory."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ..decibels import ratio_db
from ..ir import Array
from ..runtime.step_errors import energy as energy_of_singles


@dataclass
class Difference:
    """A tensor against its float truth, sample by sample.

    signal, noise  sums of squares of the truth and of the error
    cosines        sum over samples of the cosine between the two
    """

    signal: float = 0.0
    noise: float = 0.0
    cosines: float = 0.0
    max_abs_error: float = 0.0
    samples: int = 0

    @np.errstate(invalid="ignore")
    def add(self, got: Array, truth: Array) -> None:
        """Take in one sample: arrays of as many elements. NaN anywhere makes every figure NaN;
        infinities that both have do not count."""
        a, r = (np.ravel(v).astype(np.float64) for v in (got, truth))
        if a.size != r.size:
            raise ValueError(f"{a.size} elements cannot be compared with {r.size}")
        if (alike := np.isinf(r) & (a == r)).any():
            a[alike] = r[alike] = 0.0
        error = a - r
        signal, power = energy(r), energy(a)
        self.signal += signal
        self.noise += energy(error)
        norms = math.sqrt(power) * math.sqrt(signal)
        equal = not error.any()
        product = float(np.einsum("i,i->", a, r))
        self.cosines += product / norms if norms and not equal else float(equal)
        self.max_abs_error = float(np.max(np.abs(error), initial=self.max_abs_error))
        self.samples += 1

    @property
    def sqnr_db(self) -> float:
        """Signal to quantization noise over all samples, in dB."""
        return ratio_db(self.signal, self.noise)

    @property
    def cosine(self) -> float:
        """Mean over samples."""
        return self.cosines / self.samples if self.samples else math.nan


def energy(x: Array) -> float:
    """Sum of squares in double precision, in an order that no number of threads changes."""
    if x.dtype == np.float32:
        return energy_of_singles(x)
    flat = np.ravel(x).astype(np.float64)
    return float(np.einsum("i,i->", flat, flat))


def sqnr_db(got: Array, truth: Array) -> float:
    """Signal to quantization noise of the whole arrays, in dB."""
    d = Difference()
    d.add(got, truth)
    return d.sqnr_db


def predicted_class(output: Array) -> int:
    """The class that one sample's output names.

    The place of the largest value, the first among equals; of a single value itself if it is an
    integer, and whether it is above 0.5 if it is not.
    """
    flat = np.ravel(output)
    if flat.size > 1:
        return int(flat.argmax())
    return int(flat[0]) if flat.dtype.kind in "iub" else int(flat[0] > 0.5)


def judged_output(outputs: Mapping[str, Array]) -> str:
    """The output that names the class: a single integer if there is one, else the first."""
    for name, array in outputs.items():
        if array.size == 1 and array.dtype.kind in "iu":
            return name
    return next(iter(outputs))


@dataclass
class Top1:
    """Share of samples whose class is right, for both sides, and where they agree.

    Without labels the float model is right.
    """

    samples: int = 0
    float_right: int = 0
    edge_right: int = 0
    agreed: int = 0

    def add(self, got: Array, truth: Array, label: int | None) -> None:
        """Take in one sample's outputs that name the class, of the file and of the float model."""
        mine, its = predicted_class(got), predicted_class(truth)
        label = its if label is None else label
        self.samples += 1
        self.float_right += its == label
        self.edge_right += mine == label
        self.agreed += mine == its

    def points(self) -> tuple[float, float]:
        """What is right of 100: of the float model, of the file."""
        n = max(self.samples, 1)
        return 100 * self.float_right / n, 100 * self.edge_right / n

    def to_json(self) -> dict[str, float]:
        n = max(self.samples, 1)
        return {
            "float": self.float_right / n,
            "edge": self.edge_right / n,
            "agreement": self.agreed / n,
        }

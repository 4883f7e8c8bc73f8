"""The samples that trials run on, and what the float model has on them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ....calibration import ArrayFile, FiledArrays
from ...ir import Array

Sample = Mapping[str, Array]
"""Inputs by ONNX name, in ONNX shape."""

KEPT_SAMPLES = 256
KEPT_BYTES = 64 << 20


@dataclass
class KeptSample:
    """A sample, the float model's values at the evaluation points, and the channel means of tensors
    that weights multiply. `energies`: of its inputs of floats; `channel_ends` [2, channels] of some
    tensors: the smallest and the largest values.
    """

    inputs: Mapping[str, Array]
    at_points: MutableMapping[str, Array] = field(default_factory=dict)
    means: dict[str, NDArray[np.float64]] = field(default_factory=dict)
    energies: Mapping[str, float] = field(default_factory=dict)
    channel_ends: dict[str, NDArray[np.float32]] = field(default_factory=dict)

    @property
    def nbytes(self) -> int:
        return sum(map(_nbytes, (self.inputs, self.at_points, self.means, self.channel_ends)))


def energies_of(inputs: Sample) -> dict[str, float]:
    """The sums of squares of the inputs of floats."""
    floats = {name: x for name, x in inputs.items() if np.asarray(x).dtype.kind == "f"}
    return {name: float(np.sum(np.square(x, dtype=np.float64))) for name, x in floats.items()}


def _nbytes(arrays: Mapping[str, Array]) -> int:
    if isinstance(arrays, FiledArrays):  # without reading them
        return arrays.nbytes
    return sum(a.nbytes for a in arrays.values())


Fold = tuple[Sequence[KeptSample], slice]
"""Samples for fitting, and the places of the samples for evaluation."""


def two_folds(kept: Sequence[KeptSample]) -> list[Fold]:
    """The even and the odd samples, each evaluated on the other."""
    return [(kept[first::2], slice(1 - first, None, 2)) for first in (0, 1)]


class Keeper:
    """Keeps every k-th sample of a stream of unknown length; k doubles when there are too many."""

    def __init__(self, count: int = KEPT_SAMPLES, limit_bytes: int = KEPT_BYTES) -> None:
        self.kept: list[KeptSample] = []
        self.count, self.limit_bytes = count, limit_bytes
        self.step, self.seen = 1, 0
        self.file = ArrayFile()
        self._sizes: list[int] = []

    def passing(self, samples: Iterable[Sample]) -> Iterator[Sample]:
        """Pass the samples through, keeping some of them."""
        for sample in samples:
            if self.wants():
                self.add(self.sample(sample))
            self.seen += 1
            yield sample

    def sample(self, inputs: Sample) -> KeptSample:
        """A sample for `add`, with its large arrays in a file."""
        filed = inputs if isinstance(inputs, FiledArrays) else FiledArrays(self.file, inputs)
        return KeptSample(filed, FiledArrays[str](self.file), energies=energies_of(inputs))

    def wants(self) -> bool:
        return self.seen % self.step == 0

    def add(self, sample: KeptSample, later: int = 0) -> None:
        """Keep a sample, to which `later` bytes will be added."""
        self.kept.append(sample)
        self._sizes.append(sample.nbytes + later)
        while len(self.kept) > self.count or (
            sum(self._sizes) > self.limit_bytes and len(self.kept) > 1
        ):
            self.kept, self._sizes = self.kept[::2], self._sizes[::2]
            self.step *= 2

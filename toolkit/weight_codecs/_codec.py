"""What every codec of weights answers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Storage:
    """How the int8 weights of a node are to be stored: its attribute `storage`.

    codec        a name of WeightCodec
    group        so many consecutive weights of a channel share a multiplier; 0: they have none
    multipliers  uint8 [n, groups] of n channels
    """

    codec: str
    group: int = 0
    multipliers: NDArray[np.uint8] | None = None

    def of_channels(self, keep: NDArray[np.bool_]) -> Storage:
        """That of some of the channels."""
        return (
            self if self.multipliers is None else replace(self, multipliers=self.multipliers[keep])
        )


@dataclass(frozen=True, eq=False)
class Encoded:
    """Weights as a file holds them: the bytes at `weights` and, if any, at `codec.auxiliary`."""

    weights: NDArray[np.uint8]
    auxiliary: NDArray[np.uint8] | None = None
    group: int = 0


class Codec(Protocol):
    """A file of runtime_c/src/weights, in Python."""

    def encode(self, w: NDArray[np.int8], storage: Storage, depthwise: bool) -> Encoded:
        """Weights [n, k]; of a depthwise convolution the rows of the file are its k taps.

        Raises ValueError for weights that the codec does not hold.
        """

    def decode(
        self,
        blob: bytes,
        weights: int,
        auxiliary: int,
        group: int,
        shape: tuple[int, int],
        depthwise: bool,
    ) -> NDArray[np.int8]:
        """The weights [n, k] that lie at these offsets of the blob."""

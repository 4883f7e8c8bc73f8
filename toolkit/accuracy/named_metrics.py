"""The metrics that have a name: for classes, masks, embeddings and values.

Each is of one output and compares with labels, where those are given, or with the float model.
Arrays have samples first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from ..errors import UserError
from ..ir import Array
from .metrics import Difference, Top1, judged_output

Arrays = Mapping[str, Array]
IGNORED = 255
"""The label of a pixel that counts for nothing."""


def top1(outputs: Arrays, references: Arrays, labels: Array | None) -> float:
    """Samples whose class is that of the label, or else of the float model, of 100."""
    name = judged_output({k: v[:1] for k, v in references.items()})
    counted = Top1()
    for i, (got, truth) in enumerate(zip(outputs[name], references[name], strict=True)):
        counted.add(got, truth, None if labels is None else int(labels[i]))
    return counted.points()[1]


def miou(outputs: Arrays, references: Arrays, labels: Array | None) -> float:
    """Mean intersection over union, 0 to 1, of the classes in the truth, over all pixels.

    Of the first output [samples, channels, ...] or [samples, ..., channels], whichever is fewer:
    the class of a pixel is the largest of its channels; of a single one whether it is above 0.5,
    or above 0 where the float model's values leave 0 to 1. Labels are classes, one a pixel; 255
    counts for nothing.
    """
    name = _floats(references)
    reference = references[name]
    if reference.ndim < 3:
        raise UserError(
            f"metric miou: output '{name}' {list(reference.shape)} is not a mask, [samples, "
            "classes, height, width] or [samples, height, width, classes]"
        )
    probability = float(reference.min()) >= 0 and float(reference.max()) <= 1
    got, truth = (_mask(v, 0.5 if probability else 0.0) for v in (outputs[name], reference))
    if labels is not None:
        if labels.size != got.size:
            raise UserError(
                f"metric miou: labels {list(labels.shape)} do not fit the masks {list(got.shape)} "
                f"of output '{name}'; give one class per pixel"
            )
        truth = labels.reshape(got.shape)
    counts = truth != IGNORED
    ious = []
    for c in np.unique(truth[counts]):
        mine, its = (got == c) & counts, truth == c
        ious.append(np.count_nonzero(mine & its) / np.count_nonzero(mine | its))
    return float(np.mean(ious))


def _mask(x: Array, threshold: float) -> Array:
    if x.ndim == 3:
        found: Array = x > threshold
        return found
    axis = 1 if x.shape[1] <= x.shape[-1] else x.ndim - 1
    found = x.squeeze(axis) > threshold if x.shape[axis] == 1 else x.argmax(axis)
    return found


def cosine(outputs: Arrays, references: Arrays, labels: Array | None) -> float:
    """Cosine between the first output and the float model's, the mean over samples."""
    assert labels is None
    name, difference = _floats(references), Difference()
    for got, truth in zip(outputs[name], references[name], strict=True):
        difference.add(got, truth)
    return difference.cosine


def mae(outputs: Arrays, references: Arrays, labels: Array | None) -> float:
    """The mean absolute error of the first output, negative: from labels or the float model."""
    name = _floats(references)
    got = outputs[name].astype(np.float64)
    truth = references[name] if labels is None else labels
    if truth.size != got.size:
        raise UserError(
            f"metric mae: labels {list(truth.shape)} do not fit output '{name}' {list(got.shape)}"
        )
    return 0.0 - float(np.mean(np.abs(got - truth.reshape(got.shape))))  # never -0


def _floats(references: Arrays) -> str:
    """The first output of floats."""
    for name, array in references.items():
        if array.dtype.kind == "f":
            return name
    raise UserError("this metric needs a float output, but all outputs of the model are integers")


@dataclass(frozen=True)
class Named:
    function: Callable[[Arrays, Arrays, Array | None], float]
    takes_labels: bool = True

    def bound(
        self, labels: str | None
    ) -> Callable[[dict[str, Array], dict[str, Array], dict[str, Array]], float]:
        """As a function of the user's, its labels under that key of the data."""

        def metric(
            outputs: dict[str, Array], references: dict[str, Array], data: dict[str, Array]
        ) -> float:
            return self.function(outputs, references, None if labels is None else data[labels])

        return metric


NAMED = {
    "top1": Named(top1),
    "miou": Named(miou),
    "cosine": Named(cosine, takes_labels=False),
    "mae": Named(mae),
}

"""Answers that are right of a file just made, where its samples say their classes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...calibration import Samples
from ..accuracy import ClassMeter, Top1, batch_of, compare, make_oracle
from ..accuracy.mistakes import Mistakes
from ..format.reader import read
from ..ir import Graph
from ..preprocessing import class_names
from ..progress import Progress
from ..runtime import Session
from .judging import Known
from .state_samples import follows_of


@dataclass(frozen=True)
class Answers:
    """Top-1 of both models on labelled samples, and what the file gets wrong."""

    top1: Top1
    mistakes: Mistakes
    label: str | None

    def to_json(self) -> dict[str, Any]:
        """As in `check --json`."""
        return {"top1": self.top1.to_json(), "mistakes": self.mistakes.to_json()}


def count_answers(
    model: str | Path,
    graph: Graph,
    samples: Samples,
    known: Known | None,
    data: bytes,
    progress: Progress,
) -> Answers | None:
    """The classes that the file `data` and the float `model` of `graph` give the samples; None
    where none are `known`, a model keeps state, or the samples can be read only once."""
    if known is None or follows_of(graph) or not samples.reiterable:
        return None
    session = Session(data, None, None, numbers=True)
    meter = ClassMeter(graph, *known, samples.total)
    oracle, batch = make_oracle(model, graph), batch_of(graph)
    total = (samples.length or 0) * batch
    compare(session, oracle, samples, batch=batch, total=total, meter=meter, progress=progress)
    classes = class_names(read(data).provenance.settings)
    return Answers(meter.counted, meter.mistakes.named(classes, samples.places), known[0].labels)

"""The verdict on a file whose dimensions vary."""

from __future__ import annotations

from collections.abc import Mapping

from ..accuracy import QualityMeter
from ..format.at_sizes import at_sizes
from ..format.model import EdgeModel
from ..format.writer import write
from ..ir import Array, Graph
from ..quantize.quality import Quality
from ..runtime import Session
from .sized_samples import SizedSamples


class QualityAtSize:
    """A QualityMeter at the size of `samples`, as `quantize` has it: larger ones are truncated to
    it, and smaller ones do not count. `graph` is the float model at that size."""

    def __init__(self, file: EdgeModel, graph: Graph, samples: SizedSamples) -> None:
        self._cut = samples.cut
        self._session = Session(write(at_sizes(file, samples.size)), max_memory=None, numbers=True)
        self._meter = QualityMeter(graph, self._session)

    def add(self, sample: Mapping[str, Array], _: Mapping[str, Array]) -> None:
        """Take in a sample of any size. Its outputs are not used: a part of it has others."""
        part = self._cut(sample)
        if part is not None:
            self._meter.add(part, self._session.run(part))

    def quality(self, batch: int = 1) -> Quality | None:
        """As that of a QualityMeter."""
        return self._meter.quality(batch)

"""An .edge file against the float model it was made from, sample by sample in constant memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, Protocol

import numpy as np

from ..build import open_once
from ..decibels import EXACT_DB
from ..errors import UserError
from ..format.describe import op_dtype, op_type
from ..ir import Array, Graph
from ..progress import Progress
from ..quantize import Judged
from ..quantize.quality import Level, Quality, level_of
from ..runtime import IoInfo, Session
from ..runtime.batches import with_zeros
from .explanation import Explanation, LayerCost
from .judge import Meter
from .metrics import Difference, Top1
from .mistakes import Mistakes
from .oracle import Oracle
from .side_by_side import SideBySideRunner


@dataclass(frozen=True)
class OutputReport:
    """One output over all samples."""

    name: str
    sqnr_db: float
    cosine: float
    max_abs_error: float


@dataclass(frozen=True)
class LayerReport:
    """One tensor over all samples; `sqnr_db` is None where one side alone has it."""

    name: str
    operator: str
    dtype: str
    sqnr_db: float | None


@dataclass(frozen=True)
class Report:
    """The result of `edgekit check`. `layers` are sorted by SQNR, those without a float counterpart
    last.

    `quality` is the verdict and its figures, if requested; `explanation` has the causes of the
    error by layer; `extremes` are the smallest and largest values of the float model's tensors;
    `notes` are remarks on the samples.
    """

    outputs: list[OutputReport]
    samples: int
    oracle: str
    target: str
    layers: list[LayerReport] = field(default_factory=list)
    explanation: Explanation | None = None
    extremes: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    metric: Judged | None = None
    top1: Top1 | None = None
    mistakes: Mistakes | None = None
    notes: list[str] = field(default_factory=list)
    quality: Quality | None = None

    @property
    def worst(self) -> OutputReport | None:
        """The output with the lowest SQNR."""
        return min(self.outputs, key=lambda o: o.sqnr_db, default=None)

    @property
    def level(self) -> Level:
        """The verdict on these samples, as on those of calibration (quantize/quality.py)."""
        if self.quality is not None:
            return self.quality.level
        return level_of(None if self.worst is None else self.worst.sqnr_db)

    def to_json(self) -> dict[str, Any]:
        """As documented for `check --json`; `top1`, `metric` and `layers` only where asked for."""
        told: dict[str, Any] = {
            "level": self.level,
            "outputs": [asdict(o) for o in self.outputs],
            "samples": self.samples,
            "oracle": self.oracle,
            "target": self.target,
            "notes": self.notes,
        }
        if self.quality is not None:
            told["quality"] = self.quality.to_json()
        if self.top1 is not None:
            told["top1"] = self.top1.to_json()
        if self.mistakes is not None:
            told["mistakes"] = self.mistakes.to_json()
        if self.metric is not None:
            told["metric"] = self.metric.to_json()
        if self.layers:
            told["layers"] = [asdict(layer) for layer in self.layers]
        if self.explanation is not None:
            told["explanation"] = self.explanation.to_json()
            told["explanation"].pop("layers")
            unknown = {f.name: None for f in fields(LayerCost)}
            told["layers"] = [
                asdict(layer) | (unknown if cost is None else asdict(cost))
                for layer, cost in self.ranked()
            ]
        return told

    def ranked(self) -> list[tuple[LayerReport, LayerCost | None]]:
        """Every layer, inputs too, with what it costs: those first that cost the outputs most.

        Behind them those of which that is not known, least SQNR first. With an explanation, every
        figure is of its samples.
        """
        costs, layers = dict[str, LayerCost](), self.layers
        if (told := self.explanation) is not None:
            costs = {c.name: c for c in told.layers}
            layers = [replace(layer, sqnr_db=told.sqnr.get(layer.name)) for layer in layers]
            layers.sort(key=lambda layer: EXACT_DB if layer.sqnr_db is None else layer.sqnr_db)
        found = [(layer, costs.pop(layer.name, None)) for layer in layers]
        found += [(LayerReport(c.name, c.operator, c.dtype, c.sqnr_db), c) for c in costs.values()]
        return sorted(found, key=lambda row: -_share(row[1]))


def _share(cost: LayerCost | None) -> float:
    """Of the loss at the outputs; -1 where it is not known."""
    return -1.0 if cost is None or cost.share is None else cost.share


class Runner(Protocol):
    """What answers for the file: a Session here, or a device."""

    kernels: str

    @property
    def outputs(self) -> tuple[IoInfo, ...]: ...

    def run(self, feed: Mapping[str, Array]) -> dict[str, Array]: ...


class QualitySource(Protocol):
    """Measures the verdict on the file: a QualityMeter, or one for a single size."""

    def add(self, sample: Mapping[str, Array], got: Mapping[str, Array]) -> None: ...

    def quality(self, batch: int = 1) -> Quality | None: ...


def compare(
    edge: Runner,
    oracle: Oracle,
    samples: Iterable[Mapping[str, Array]],
    *,
    batch: int = 1,
    total: int = 0,
    meter: Meter | None = None,
    floats: Graph | None = None,
    quality: QualitySource | None = None,
    target: str | None = None,
    progress: Progress | None = None,
) -> Report:
    """The differences between `edge` and `oracle` on `samples`, inputs by ONNX name and shape.

    The models take `batch` samples at a time, of `total` where that is known. With `meter`, also
    its metric of both; with `quality`, the verdict. With `floats`, the graph whose tensors the
    file's stand for, also the SQNR of every tensor that operators of both make. Raises UserError
    when there are no samples.
    """
    outputs: dict[str, Difference] = {}
    uneven = Counter[str]()
    layers = None
    if floats is not None:
        if not isinstance(edge, Session):
            raise UserError("layers are compared on the host only; omit --target")
        layers = _Layers(edge, floats)
    count = 0
    for sample in samples:
        truth = oracle.run(sample)
        got = edge.run(sample) if layers is None else layers.add(sample)
        for name in got:
            found, wanted = _as_long(got[name], truth[name])
            outputs.setdefault(name, Difference()).add(found, wanted)
            uneven[name] += got[name].shape != found.shape or truth[name].shape != wanted.shape
        if meter is not None:
            meter.add(sample, truth, got)
        if quality is not None:
            quality.add(sample, got)
        count += batch
        if progress:
            progress("comparing", count, total)
    if not count:
        raise UserError("no samples to compare; give at least one")
    return Report(
        [OutputReport(n, d.sqnr_db, d.cosine, d.max_abs_error) for n, d in outputs.items()],
        count,
        oracle.name,
        target or edge.kernels,
        [] if layers is None else layers.report(),
        extremes={} if layers is None else layers.extremes,
        notes=[
            f"output '{name}' is longer or shorter than the float model's on {many} of {count} "
            "samples: what one lacks counts as zeros"
            for name, many in uneven.items()
            if many
        ],
        metric=None if meter is None else meter.judged(),
        quality=None if quality is None else quality.quality(batch),
    )


def _as_long(got: Array, truth: Array) -> list[Array]:
    """Both; of what a detector finds, which may be more or less, with zeros for what one lacks."""
    if got.size == truth.size or got.ndim != truth.ndim:
        return [got, truth]
    shape = tuple(map(max, got.shape, truth.shape))
    return [with_zeros(x, shape) for x in (got, truth)]


class _Layers:
    """Every operator's output in both files, by name."""

    def __init__(self, edge: Session, floats: Graph) -> None:
        self.edge, self.float_edge = edge, open_once(floats)
        self.side_by_side = SideBySideRunner(edge, floats)
        shown = (
            {s.op_outputs[i].name for i in s.model.always_run} for s in (edge, self.float_edge)
        )
        self.common = set.intersection(*shown)
        self.differences = {name: Difference() for name in self.common}
        self.extremes: dict[str, tuple[float, float]] = {}

    def add(self, sample: Mapping[str, Array]) -> dict[str, Array]:
        """Run both on a sample; returns the file's outputs."""
        resolution, found = self.side_by_side.resolution, dict[str, Array]()

        def keep(_: int, name: str, array: Array) -> None:
            if name in self.common or name in resolution.needs:
                found[name] = array.copy()

        def take(name: str, _: Array, counted: Array, truth: Array) -> None:
            if name in self.common:
                self.differences[name].add(counted, truth)

        self.float_edge.run_layers(sample, keep)
        truth = resolution.truth(found)
        for name in self.common & found.keys():
            x = truth.of(name)
            low, high = self.extremes.get(name, (np.inf, -np.inf))
            self.extremes[name] = min(low, float(x.min())), max(high, float(x.max()))
        return self.side_by_side.run(sample, truth, take)

    def report(self) -> list[LayerReport]:
        known: list[LayerReport] = []
        alone: list[LayerReport] = []
        model = self.edge.model.parsed()
        for out, op in zip(self.edge.op_outputs, model.ops, strict=True):
            difference = self.differences.get(out.name)
            db = difference.sqnr_db if difference and difference.samples else None
            layer = LayerReport(out.name, op_type(model, op), op_dtype(model, op), db)
            (alone if db is None else known).append(layer)
        return sorted(known, key=lambda layer: layer.sqnr_db or 0.0) + alone

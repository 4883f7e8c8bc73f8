"""What a file loses against the float model by a metric, on the same samples again and again."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from ..build import build_file
from ..errors import UserError
from ..ir import Array, Graph
from ..numerics import numpy_dtype
from ..quantize import Judged, KeptSample
from ..runtime import Session
from .evaluation_set import EvaluationSet, batch_of, check_labels, make_keeper, rows_of
from .metric import Metric, open_metric
from .metrics import Top1, judged_output, predicted_class
from .mistakes import Mistakes


class Judge:
    """Remembers samples and what the float model answers, as many as Evidence holds.

    Drops are in `unit`: points of top-1; with `percent`, percent of the size of the float model's
    value; else in the metric's own unit. `others` and `total` are as for Evidence. Raises UserError
    when there are no samples, for labels that do not fit, for what the metric does, and for a
    percentage of 0.
    """

    def __init__(
        self,
        graph: Graph,
        samples: Iterable[Mapping[str, Array]],
        metric: Metric | None = None,
        *,
        percent: bool = False,
        others: Mapping[str, Array] | None = None,
        total: int | None = None,
    ) -> None:
        self.metric = open_metric(None) if metric is None else metric
        if self.metric.in_points:
            check_class(graph, self.metric.labels, others or {})
        keeper = make_keeper(graph)
        session = Session(build_file(graph), max_memory=None, numbers=True)
        for _ in keeper.passing(samples):
            pass
        if not keeper.seen:
            raise UserError("no samples to evaluate; give at least one")
        self.evaluation_set = EvaluationSet(graph, keeper, self.metric, others or {}, total)
        self.references = self.evaluation_set.together(map(session.run, self.evaluation_set.feeds))
        self.real = self.metric.of_floats(self.references, self.evaluation_set.data)
        self.unit = "points" if self.metric.in_points else "%" if percent else ""
        if self.unit == "%" and self.real == 0:
            raise UserError(
                f"metric {self.metric.name}: the float model's value is 0, so a percentage is "
                "undefined; use an absolute limit, e.g. --max-drop 0.5"
            )

    def drop(self, data: bytes) -> float:
        """What the .edge file `data` loses, in `unit`."""
        answers, whose = self._answers(data), "the quantized model"
        lost = self.real - self.metric(answers, self.references, self.evaluation_set.data, whose)
        return 100 * lost / abs(self.real) if self.unit == "%" else lost

    def judged(self, drop: float) -> Judged:
        """What is to be said of a file with this drop."""
        lost = drop * abs(self.real) / 100 if self.unit == "%" else drop
        return Judged(
            self.metric.name,
            self.unit,
            self.real,
            self.real - lost,
            self.evaluation_set.samples,
            self.evaluation_set.of,
        )

    def _answers(self, data: bytes) -> dict[str, Array]:
        run = Session(data, max_memory=None, numbers=True).run
        return self.evaluation_set.together(map(run, self.evaluation_set.feeds))


@dataclass
class _Answered(KeptSample):
    """A sample with the outputs of the float model and of the file."""

    truth: Mapping[str, Array] = field(default_factory=dict)
    got: Mapping[str, Array] = field(default_factory=dict)


class Meter(ABC):
    """A metric of answers that are given one by one, of the float model and of a file."""

    @abstractmethod
    def add(
        self, sample: Mapping[str, Array], truth: Mapping[str, Array], got: Mapping[str, Array]
    ) -> None:
        """Take in what both answer to the inputs `sample`, a batch as the model has it."""

    @abstractmethod
    def judged(self) -> Judged:
        """Raises UserError as Judge does."""


def make_meter(
    graph: Graph, metric: Metric, others: Mapping[str, Array], total: int | None
) -> Meter:
    """`others` and `total` are as for Evidence. Raises UserError as Judge does."""
    if metric.in_points:
        return ClassMeter(graph, metric, others, total)
    return _Remembering(graph, metric, others, total)


class ClassMeter(Meter):
    """Top-1 of all samples: the answers are counted, and not kept. `counted` is both models',
    `mistakes` what is wrong of the file's, where there are labels."""

    def __init__(
        self, graph: Graph, metric: Metric, others: Mapping[str, Array], total: int | None
    ) -> None:
        check_class(graph, metric.labels, others)
        if total is not None:
            check_labels(metric, others, total)
        self.metric, self.others, self.total = metric, others, total
        self.batch = batch_of(graph)
        self.labels = None if metric.labels is None else others[metric.labels]
        self.counted, self.mistakes = Top1(), Mistakes()

    def add(
        self, sample: Mapping[str, Array], truth: Mapping[str, Array], got: Mapping[str, Array]
    ) -> None:
        for mine, its in zip(rows_of(got, self.batch), rows_of(truth, self.batch), strict=True):
            at, name = self.counted.samples, judged_output(its)
            if self.labels is not None and at >= len(self.labels):
                raise UserError(f"there are more samples than the {len(self.labels)} labels")
            label = None if self.labels is None else int(self.labels[at])
            self.counted.add(mine[name], its[name], label)
            if label is not None:
                guess = predicted_class(mine[name])
                self.mistakes.add(at, label, guess, mine[name], its[name])

    def judged(self) -> Judged:
        n = self.counted.samples
        if self.total is None:
            check_labels(self.metric, self.others, n)
        return Judged(self.metric.name, "points", *self.counted.points(), n, n)


class _Remembering(Meter):
    """Any metric, on as many samples as Evidence holds."""

    def __init__(
        self, graph: Graph, metric: Metric, others: Mapping[str, Array], total: int | None
    ) -> None:
        self.graph, self.metric, self.others, self.total = graph, metric, others, total
        self.keeper = make_keeper(graph)

    def add(
        self, sample: Mapping[str, Array], truth: Mapping[str, Array], got: Mapping[str, Array]
    ) -> None:
        if self.keeper.wants():
            self.keeper.add(
                _Answered({k: np.array(v) for k, v in sample.items()}, truth=truth, got=got)
            )
        self.keeper.seen += 1

    def judged(self) -> Judged:
        evaluation_set = EvaluationSet(
            self.graph, self.keeper, self.metric, self.others, self.total
        )
        kept = [k for k in self.keeper.kept if isinstance(k, _Answered)]
        references = evaluation_set.together(k.truth for k in kept)
        outputs = evaluation_set.together(k.got for k in kept)
        real = self.metric.of_floats(references, evaluation_set.data)
        edge = self.metric(outputs, references, evaluation_set.data, "the file")
        return Judged(self.metric.name, "", real, edge, evaluation_set.samples, evaluation_set.of)


def check_class(
    graph: Graph,
    key: str | None = None,
    others: Mapping[str, Array] | None = None,
    where: str | Path | None = None,
    names: Sequence[str] = (),
) -> None:
    """Raises UserError where the output that top-1 is of does not name one class a sample.

    Or where a label, of those under `key` of `others` of the file `where`, is none of its classes,
    or where classes that have `names` are not as many.
    """
    outputs = {p.name: np.empty(p.shape, numpy_dtype(p.onnx_dtype)) for p in graph.outputs}
    first = rows_of(outputs, batch_of(graph))[0]
    name = judged_output(first)
    if sum(d > 1 for d in first[name].shape) > 1:
        raise UserError(
            f"output '{name}' {list(outputs[name].shape)} does not give one class per sample, so "
            "top-1 is undefined; choose another metric (--metric), or limit the SQNR instead "
            "(--min-sqnr, without labels)"
        )
    labels = None if key is None else (others or {}).get(key)
    classes = first[name].size
    if labels is None or (classes == 1 and first[name].dtype.kind in "iub"):
        return
    classes = max(classes, 2)
    if names and len(names) != classes:
        raise UserError(
            f"{'' if where is None else f'{where}: '}labels '{key}' have {len(names)} class names "
            f"({', '.join(names[:4])}{', ...' if len(names) > 4 else ''}), but output '{name}' "
            f"has {classes} classes; use the class numbers of the model, 0 to {classes - 1}"
        )
    beyond = (labels < 0) | (labels >= classes)
    if beyond.any():
        file = "" if where is None else f"{where}: "
        raise UserError(
            f"{file}labels '{key}': {int(beyond.sum())} of {labels.size} are out of range for "
            f"output '{name}' (0 to {classes - 1}), first {labels[beyond][0]} at sample "
            f"{int(beyond.argmax())}; use the class numbers of the model, and remove samples of "
            "other classes"
        )

"""Who judges a quantized file, and on which samples: what a user gives for that, opened."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ...calibration import (
    CalibrationError,
    ImageOptions,
    InputSpec,
    Samples,
    SampleSource,
    Sound,
    find_labels,
    load_labels,
    load_others,
    open_samples,
)
from ..accuracy import Judge, Metric, MetricFunction, check_class, check_labels, open_metric
from ..dynamic import Sizes
from ..errors import UserError
from ..files import read_file
from ..ir import Array, Graph, Port, Value
from ..numerics import STRING, numpy_dtype
from ..ops import definition
from ..quantize import Budget, KeptSample
from ..state import likely_pairs
from .state_samples import with_states


def input_specs(graph: Graph, sizes: Sizes | None = None, options: bool = False) -> list[InputSpec]:
    """What the graph's inputs look like to the reader of samples; state is not read. With `sizes`
    whose dimensions vary, the graph is that of the largest. `options` of `quantize` may stand for
    inputs that the samples lack."""
    given, pairs = [p for p in graph.inputs if not p.follows], likely_pairs(graph)
    return [
        InputSpec(
            p.name,
            p.shape,
            numpy_dtype(p.onnx_dtype),
            _may_miss_values(graph, p.value),
            sizes.ranges_of(p.name, p.shape) if sizes is not None and sizes.symbols else (),
            tuple(p.labels) if p.onnx_dtype == STRING else (),
            _option_for(p, pairs) if options and len(given) > 1 else "",
        )
        for p in given
    ]


def _option_for(port: Port, pairs: Mapping[str, str]) -> str:
    """What keeps an input as state, or makes it a constant, if it looks like one."""
    if port.name in pairs:
        return f"--state {port.name}={pairs[port.name]}"
    return f"--constant {port.name}=VALUE" if port.value.type.size == 1 else ""


def _may_miss_values(graph: Graph, x: Value) -> bool:
    """Whether an Imputer or a forest reads the input, or columns of it, and takes NaN for a missing
    value. Calibration sees whether all others do without."""
    readers, moved = graph.consumers(), [x]
    for v in moved:
        for node in readers.get(v, []):
            if definition(node.op).takes_missing(node):
                return True
            if definition(node.op).shared:
                moved += [y for y in node.outputs if y not in moved]
    return False


@dataclass(frozen=True)
class Judging:
    """What `max_drop` of a budget is judged by.

    `evaluation` are the samples, None for those of calibration; `named` says that labels or a
    metric were asked for, which needs all samples and the arrays beside their inputs.
    """

    metric: Metric
    percent: bool
    evaluation: SampleSource | None
    named: bool

    @staticmethod
    def of(
        budget: Budget | None,
        evaluation: SampleSource | None,
        labels: str | None,
        metric: str | Path | MetricFunction | None,
    ) -> Judging | None:
        """None without a limit on the drop. Raises UserError for what would judge nothing."""
        if budget is None or budget.max_drop is None:
            if evaluation is not None or metric is not None:
                raise UserError(
                    "--eval and --metric require --max-drop; to measure only, use `edgekit check`"
                )
            return None
        named = labels is not None or metric is not None
        return Judging(open_metric(metric, labels), budget.drop_in_percent, evaluation, named)

    @property
    def reads_calibration(self) -> bool:
        """Whether the arrays beside the inputs of the calibration samples serve."""
        return self.named and self.evaluation is None

    def judge(
        self,
        graph: Graph,
        calib: SampleSource,
        opened: Samples,
        how: ImageOptions | Sound,
        limit: int | None,
        sequence: int | None = None,
    ) -> tuple[Judge | None, dict[str, Any]]:
        """Who judges, and what provenance says of that; None for `judge_kept`.

        `opened` are the first `limit` samples of `calib`. Raises UserError.
        """
        if self.metric.in_points:
            check_class(graph)
        if self.metric.labels is not None and self.evaluation is None and not opened.reiterable:
            raise UserError("labels are read from the .npz of the samples; pass its path as calib")
        if self.evaluation is None and not (self.named and opened.reiterable):
            return None, {}
        data, most = (calib, limit) if self.evaluation is None else (self.evaluation, None)
        specs = input_specs(graph)
        given = open_samples(data, specs, how, limit=most, labels=self.metric.labels)
        samples = with_states(graph, given, sequence)
        others = others_of(samples, graph, self.metric)
        judge = Judge(
            graph, samples, self.metric, percent=self.percent, others=others, total=samples.total
        )
        said = _said_of(self.metric) | {"samples_sha256": samples.fingerprint()}
        return judge, {"judged": said}

    def judge_kept(self, graph: Graph, kept: Sequence[KeptSample]) -> Judge:
        """Who judges by the samples that calibration has kept."""
        return Judge(graph, [s.inputs for s in kept], self.metric, percent=self.percent)


def others_of(samples: Samples, graph: Graph, metric: Metric) -> Mapping[str, Array]:
    """The arrays beside the inputs that the metric gets; labels of top-1 are whole numbers.

    Raises UserError unless labels are as many as the samples in all, where that is known, and for
    one of top-1 that is no class of the graph's.
    """
    data = samples.origin
    others, where = load_others(data, input_specs(graph)), None
    if isinstance(data, str | Path):
        where = data
    if metric.labels is not None and (metric.in_points or not others):
        labels = load_labels(samples, metric.labels)
        others[metric.labels] = labels.classes
        if metric.in_points:
            check_class(graph, metric.labels, others, where, labels.names)
    if samples.total is not None:
        check_labels(metric, others, samples.total, where)
    return others


Known = tuple[Metric, Mapping[str, Array]]
"""A metric, and the arrays that it gets."""


def known_labels(samples: Samples, graph: Graph, asked: str | None = None) -> Known | None:
    """Top-1 by the labels `asked` for, or by those that lie where everybody puts them and are
    classes of the graph's; None where there are none. Raises as `others_of` for those asked for."""
    if asked is not None:
        metric = open_metric(None, asked)
        return metric, others_of(samples, graph, metric)
    key = find_labels(samples)
    if key is None:
        return None
    metric = open_metric(None, key)
    try:
        return metric, others_of(samples, graph, metric)
    except (UserError, CalibrationError) as why:
        samples.notes.append(f"labels are not used: {why}")
        return None


def _said_of(metric: Metric) -> dict[str, Any]:
    """What provenance says of a metric."""
    content = None if metric.file is None else read_file(metric.file, "a metric")
    said: dict[str, Any] = {"metric": metric.name, "labels": metric.labels}
    return said if content is None else said | {"sha256": hashlib.sha256(content).hexdigest()}

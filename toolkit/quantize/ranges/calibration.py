"""Runs the float model on the samples and keeps statistics of every tensor, in constant memory."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Set
from dataclasses import dataclass, field
from functools import cached_property
from math import prod

import numpy as np
from numpy.typing import NDArray

from ....calibration import (
    DEFAULT_BINS,
    OBSERVERS,
    CalibrationError,
    Samples,
    TensorStats,
    candidates,
    channel_means,
)
from ...build import open_once
from ...errors import UserError
from ...ir import Array, Graph, Node, Shape, Value
from ...numerics import FLOAT
from ...ops import definition, is_view
from ...progress import Progress
from ...runtime import Session
from ...runtime.many_runs import copies_of
from ...runtime.turns import Turn, each_in_turn
from ..outputs.differences import inputs_with_levels
from ..outputs.evaluation_points import EvaluationPoint, find_evaluation_points, fitted
from ..outputs.kept_samples import KEPT_SAMPLES, Keeper, KeptSample, Sample
from ..outputs.one_sided import OneSided, one_class, one_sided
from ..scheme.options import Range
from ..scheme.prepare import copy_graph
from ..scheme.qparams import widen

STEP_SECONDS = 2.5e-4
"""Mean seconds of an operator from which samples run on all cores: threads share the GIL, and with
shorter operators cost more CPU time than they save."""


@dataclass(frozen=True)
class AnySize:
    """A model with variable dimensions: `session` runs `watched` at all sizes; `cut` truncates a
    larger sample to the graph's size, and returns None for other samples."""

    session: Session
    cut: Callable[[Sample], Sample | None]


Judged = tuple[NDArray[np.float64], NDArray[np.float64]]
"""The noise of a file on some samples, and the rows of Figures."""


@dataclass
class Calibration:
    """Statistics by tensor name, and every `step`-th sample. `ends` are the smallest and largest
    value of a tensor on each sample, alternating. `one_sided` are outputs of which the samples show
    one answer only, and `least` the ranges that the other one needs. `judged`: what files gave on
    kept samples (CandidateEvaluator.judge), and `noises`: their noise by checksum, [evaluation
    points, kept samples], NaN where they have not run."""

    stats: dict[str, TensorStats]
    kept: list[KeptSample]
    points: list[EvaluationPoint]
    samples: int
    step: int = 1
    ends: dict[str, array[float]] = field(default_factory=dict, repr=False)
    one_sided: list[OneSided] = field(default_factory=list)
    least: dict[str, Range] = field(default_factory=dict, repr=False)
    _observed: dict[tuple[str, str], Range] = field(default_factory=dict, repr=False)
    judged: dict[Hashable, Judged] = field(default_factory=dict, init=False, repr=False)
    noises: dict[bytes, NDArray[np.float64]] = field(default_factory=dict, init=False, repr=False)

    @property
    def inputs(self) -> list[Mapping[str, Array]]:
        """Those of the kept samples."""
        return [sample.inputs for sample in self.kept]

    def observed(self, observer: str, tensor: str) -> Range:
        """The range of a tensor by one of OBSERVERS."""
        key = observer, tensor
        if key not in self._observed:
            self._observed[key] = OBSERVERS[observer](self.stats[tensor])
        return self._observed[key]

    def candidates(self, tensor: str) -> list[tuple[str, Range]]:
        """Candidate ranges of a tensor, with the name of the rule."""
        known = {observer: self.observed(observer, tensor) for observer in OBSERVERS}
        return candidates(self.stats[tensor], known)

    def keep_extremes(self) -> None:
        """Keep only the extremes, when no more ranges and weights are computed."""
        for stats in self.stats.values():
            stats.drop_histogram()
        for sample in self.kept:
            sample.means.clear()

    def drop_histograms(self, besides: Calibration) -> None:
        """Free the histograms of tensors whose statistics are not also those of another
        calibration: tens of MiB."""
        kept = {id(stats) for stats in besides.stats.values()}
        for stats in self.stats.values():
            if id(stats) not in kept:
                stats.drop_histogram()

    def reach(self) -> dict[str, NDArray[np.float64]]:
        """The largest magnitude of a tensor on each sample."""
        return dict(zip(self.ends, np.abs(self._by_sample).max(axis=2), strict=True))

    def without(self, places: slice) -> dict[str, Range]:
        """Min-max ranges without the kept samples at `places`; on all samples for tensors that do
        not occur in every sample."""
        rows = self._rows_without(places)
        found = {n: self.observed("minmax", n) for n, s in self.stats.items() if s.count}
        if rows.shape[1]:
            low = np.minimum(rows[..., 0].min(axis=1), 0.0).tolist()
            high = np.maximum(rows[..., 1].max(axis=1), 0.0).tolist()
            found |= zip(self.ends, zip(low, high, strict=True), strict=True)
        return found

    def ends_without(self, places: slice) -> dict[str, NDArray[np.float64]]:
        """The smallest and largest value [samples, 2] of tensors that occur in every sample,
        without the kept samples at `places`; empty if no samples remain."""
        rows = self._rows_without(places)
        return dict(zip(self.ends, rows, strict=True)) if rows.shape[1] else {}

    def _rows_without(self, places: slice) -> NDArray[np.float64]:
        """Of all tensors, [tensors, samples, 2]."""
        gone = np.arange(len(self.kept))[places] * self.step
        return np.delete(self._by_sample, gone, axis=1)

    @cached_property
    def _by_sample(self) -> NDArray[np.float64]:
        """The ends as [tensors, samples, 2]."""
        ends = np.array(list(self.ends.values()), np.float64)
        return ends.reshape(len(self.ends), self.samples, 2)

    def extremes(self) -> dict[str, Range]:
        """The smallest and largest value of every tensor."""
        return {n: (s.minimum, s.maximum) for n, s in self.stats.items() if s.count}

    def known(self, names: Set[str]) -> Known:
        """The statistics of these tensors, if all samples were kept; otherwise none."""
        if len(self.kept) < self.samples:
            return Known()
        return Known(self.stats, self.ends).only(names)

    def bounded(self, tensor: str, r: Range) -> Range:
        """A range of a tensor without values that have no effect on its readers, and with those
        that the samples lack."""
        if tensor in self._lowest:
            r = max(r[0], min(self._lowest[tensor], 0.0)), r[1]
        return widen(r, self.least[tensor]) if tensor in self.least else r

    @cached_property
    def _lowest(self) -> dict[str, float]:
        """Values below which differences in a tensor have no effect on its readers."""
        return {p.tensor: p.lowest for p in self.points if np.isfinite(p.lowest)}

    def means(self) -> dict[str, NDArray[np.float64]]:
        """Mean over the kept samples of each channel of the tensors that weights multiply."""
        found = self.kept[0].means
        return {n: np.mean([s.means[n] for s in self.kept], axis=0) for n in found}


@dataclass(frozen=True)
class Known:
    """Statistics and `ends` (as in Calibration) of tensors, by name."""

    stats: dict[str, TensorStats] = field(default_factory=dict)
    ends: dict[str, array[float]] = field(default_factory=dict)

    def only(self, names: Set[str]) -> Known:
        """Those of these tensors that have statistics."""
        stats = {n: s for n, s in self.stats.items() if n in names and s.count}
        return Known(stats, {n: both for n, both in self.ends.items() if n in stats})


def calibrate(
    graph: Graph,
    samples: Iterable[Sample],
    progress: Progress | None = None,
    kept: int = KEPT_SAMPLES,
    of_any_size: AnySize | None = None,
    known: Known | None = None,
    histograms: bool = True,
    also: Callable[[str, Array], NDArray[np.float32] | None] | None = None,
) -> Calibration:
    """Statistics of every float tensor of `graph` on `samples`, run by the C runtime in float32. At
    most `kept` samples are kept. Statistics of `known` tensors are reused. Without `histograms`,
    only the observers of BY_EXTREMES are available. `also` is called with the name and the values
    of each tensor of the kept samples, in the order of the samples for each tensor; it may return
    `channel_ends` to keep.

    For a model with variable dimensions, `of_any_size` runs the samples with other shapes than the
    graph's, one after the other. These come after the samples with the graph's shapes; larger ones
    are truncated by `cut` before they are kept, and those that cannot be truncated come last.

    A tensor with NaN or infinity, e.g. before an Imputer, has no statistics and stays float32.
    Raises UserError if there are no samples, or one does not fit the inputs; CalibrationError if
    NaN or infinity reaches an output, naming the first tensor with such values.
    """
    seen_graph = watched(graph)
    session = open_once(seen_graph)
    names = {v.name for v in seen_graph.values() if v.const is None and v.dtype == np.float32}
    known = (known or Known()).only(names)
    bins = DEFAULT_BINS if histograms else 0
    stats = {name: TensorStats(bins, name=name) for name in sorted(names - known.stats.keys())}
    points = find_evaluation_points(graph)
    at_points = {name for p in points for name in p.tensors}
    weighed = views(graph, read_by_weights(graph))
    evaluated = views(graph, [v for v in graph.values() if v.name in at_points])
    later = _bytes_of(weighed, evaluated)
    results = set(views(graph, graph.output_values())) | set(evaluated)
    masks = {p.tensor for p in points if p.masks}
    masked = set(views(graph, [v for v in graph.values() if v.name in masks]))
    ends = {name: array("f") for name in stats}
    keeper, endless = Keeper(kept), dict[str, tuple[int, CalibrationError]]()
    count, total = 0, _length(samples)

    def taken() -> Iterator[tuple[int, Sample, AnySize | None, KeptSample | None]]:
        """The samples, what runs those of other sizes, and what is kept of them."""
        nonlocal count
        for count, sample in enumerate(samples, 1):
            other = None if of_any_size is None or _fits(graph, sample) else of_any_size
            given = sample if other is None else other.cut(sample)
            chosen = keeper.sample(given) if given is not None and keeper.wants() else None
            if chosen is not None:
                keeper.add(chosen, later)
            keeper.seen += given is not None
            yield count, sample, other, chosen

    def observe(
        own: Session, item: tuple[int, Sample, AnySize | None, KeptSample | None], turn: Turn
    ) -> None:
        at, sample, other, chosen = item

        def keep(name: str, x: Array) -> None:
            if chosen is None:
                return
            of_channels = also(name, x) if also is not None else None
            if of_channels is not None and other is None:
                chosen.channel_ends[name] = of_channels
            for reader, shape in weighed.get(name, ()):
                chosen.means[reader] = channel_means(x.reshape(shape))
            for reader, shape in evaluated.get(name, ()):
                chosen.at_points[reader] = x.reshape(shape)

        def see(name: str, x: Array) -> None:
            if name in stats:
                try:
                    ends[name].extend(stats[name].update(x))
                except CalibrationError as why:
                    endless.setdefault(name, (at, why))
                    if name in results and not (name in masked and _is_masked(x)):
                        told = list(endless.values())  # others may add to them
                        first, why = min(told, key=lambda found: found[0])
                        raise CalibrationError(f"{_named(samples, first - 1)}: {why}") from why

        def see_in_turn(name: str, x: Array) -> None:
            with turn.at(name):
                see(name, x)
                keep(name, x)

        if other is None:
            _watch(graph, own, sample, see_in_turn)
        turn.wait()
        if other is not None:
            _watch(graph, other.session, sample, see)
            if chosen is not None:
                _watch(graph, own, chosen.inputs, keep)
        if progress:
            progress("calibrating", at, total)

    def others(seconds: float) -> list[Session]:
        return copies_of(session) if seconds >= STEP_SECONDS * len(session.op_outputs) else []

    each_in_turn(observe, session, taken(), others)
    if not keeper.seen:
        raise UserError("no calibration samples; give at least one")
    for name in endless:
        stats[name] = TensorStats(bins, name=name)
    stats = dict(sorted((stats | known.stats).items()))
    seen = {name: both for name, both in ends.items() if len(both) == 2 * count} | known.ends
    return calibration_of(graph, stats, keeper.kept, points, (count, keeper.step), seen)


def calibration_of(
    graph: Graph,
    stats: dict[str, TensorStats],
    kept: list[KeptSample],
    points: list[EvaluationPoint],
    counted: tuple[int, int],
    ends: dict[str, array[float]],
) -> Calibration:
    """What is found on samples, of which the second number `counted` is the step."""
    _copy_aliases(graph, stats)
    values = [s.at_points for s in kept]
    points = fitted(points, kept, inputs_with_levels(graph))
    sides, least = one_sided(graph, stats, values)
    sides += one_class(graph, points, values)
    return Calibration(stats, kept, points, *counted, ends, one_sided=sides, least=least)


def _named(samples: Iterable[Sample], at: int) -> str:
    """What messages call a sample: with its file, if it has one."""
    found = samples.names([at]) if isinstance(samples, Samples) else {}
    return found.get(at, f"sample {at}")


def _is_masked(x: Array) -> bool:
    """Whether minus infinity is all that is not finite, and not all."""
    rest = x[x != -np.inf]
    return bool(rest.size and np.isfinite(rest).all())


def _bytes_of(weighed: Views, evaluated: Views) -> int:
    """What a kept sample takes: channel means of tensors, and others as they are."""
    means = (shape[-1] for of in weighed.values() for _, shape in of)
    values = (prod(shape) for of in evaluated.values() for _, shape in of)
    return 8 * sum(means) + 4 * sum(values)


def _watch(
    graph: Graph, session: Session, sample: Sample, see: Callable[[str, Array], None]
) -> None:
    """Run a sample, and observe each input and each operator output."""
    for port in graph.inputs:
        if port.name in sample:
            see(port.value.name, np.asarray(sample[port.name]))
    session.run_layers(sample, lambda _, name, x: see(name, x))


def _fits(graph: Graph, sample: Sample) -> bool:
    return all(sample[p.name].shape == p.shape for p in graph.inputs if p.name in sample)


def watched(graph: Graph) -> Graph:
    """The graph with additional nodes, so that everything with a range can be observed: values
    inside of nodes, and all float outputs (the runtime exposes only the first output of a node)."""
    copy = copy_graph(graph)
    nodes: list[Node] = []
    for node in copy.nodes:
        op, outputs = definition(node.op), node.outputs
        nodes += op.inside(node).values()
        if all(v.dtype != FLOAT for v in outputs[1:]):
            nodes.append(node)
            continue
        for i, v in enumerate(outputs):
            nodes.append(op.alone(node, i))
            nodes[-1].outputs = [v]
    copy.nodes = nodes
    return copy


def _length(samples: Iterable[Sample]) -> int:
    try:
        return len(samples)  # type: ignore[arg-type]
    except TypeError:
        return 0


Views = dict[str, list[tuple[str, Shape]]]
"""By observed tensor: the tensors with the same data in any shape, including itself."""


def views(graph: Graph, wanted: Iterable[Value]) -> Views:
    """Where to observe the `wanted` tensors: a Reshape is not executed, so its source is
    observed."""
    made_by = graph.producers()
    found: Views = {}
    for x in dict.fromkeys(wanted):
        source = x
        while source in made_by and is_view(made_by[source]):
            source = made_by[source].input(0)
        found.setdefault(source.name, []).append((x.name, x.shape))
    return found


def read_by_weights(graph: Graph) -> list[Value]:
    """The tensors that nodes multiply with their weights."""
    return [n.input(0) for n in graph.nodes if definition(n.op).weight is not None]


def _copy_aliases(graph: Graph, stats: dict[str, TensorStats]) -> None:
    """A Reshape is not executed: its output gets the statistics of its input."""
    for node in graph.nodes:
        source, name = node.inputs[0] if node.inputs else None, node.output.name
        if is_view(node) and source is not None and name in stats and not stats[name].count:
            stats[name] = stats[source.name]

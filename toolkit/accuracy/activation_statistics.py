"""One pass over samples: what each tensor loses by itself, and what has come together there."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from ...calibration import ArrayFile, FiledArrays, channel_means
from ..build import open_once
from ..ir import Array, Graph, Shape
from ..progress import Progress
from ..quantize import (
    Calibration,
    CandidateEvaluator,
    KeptSample,
    Score,
    find_evaluation_points,
    fitted,
    with_evaluation_points,
)
from ..quantize.outputs.differences import inputs_with_levels
from ..quantize.outputs.kept_samples import energies_of
from ..quantize.ranges.calibration import read_by_weights, views
from ..runtime import Session, return_freed
from .evaluation_set import batch_of
from .layer_statistics import LayerStatistics
from .metrics import energy
from .rounding_simulation import Rounding, simulated, sources, with_weighted_copies
from .side_by_side import SideBySideRunner
from .simulated_model import SimulatedModel, base_of, own_biases
from .softmax_resolution import ReferenceTensors

SUSPECTING = 2
"""Samples that say which layers of a large model are run alone."""


class ActivationStatistics:
    """A file on samples, of which the model takes `batch` at a time.

    statistics  of every tensor that the file rounds, by name; empty until it is watched
    signal      sums of squares of every tensor of the float model, once all are watched
    noise       likewise, by "file", "weights" and "activations": of every tensor's error in the
                file, and with only weights or activations rounded
    all         what the file rounds
    apart       the same for roundings by themselves: with biases for the weights alone where the
                file's make up for the errors of inputs
    scores      at the evaluation points, likewise by "file", "weights" and "activations"
    """

    def __init__(
        self,
        edge: Session,
        simulated_model: SimulatedModel,
        inputs: Sequence[Mapping[str, Array]],
        progress: Progress | None = None,
    ) -> None:
        self.simulated_model, self.all = simulated_model, sources(simulated_model)
        calibration = _with_points(simulated_model.graph, inputs)
        self.trials = CandidateEvaluator(calibration)
        shapes = _shapes(simulated_model)
        known = {n: shapes.get(n) or shapes.get(base_of(n)) for n in simulated_model.quant}
        self.batch = batch_of(simulated_model.graph)
        self.statistics = {
            n: LayerStatistics(simulated_model.quant[n], shape, self.batch)
            for n, shape in known.items()
            if shape
        }
        self.signal: dict[str, float] = {}
        self.noise: dict[str, dict[str, float]] = {}
        self._inputs, self._progress = inputs, progress
        self._side_by_side = SideBySideRunner(edge, simulated_model.graph)
        by_name = {v.name: v for v in simulated_model.graph.values()}
        self._points_at: dict[str, set[str]] = {}
        for point in self.trials.points:
            at = simulated_model.source(by_name[point.tensor]).name
            self._points_at.setdefault(at, set()).add(point.tensor)
        self.scores = {"file": self._score_of_file()}
        self.apart = self._apart(own_biases(simulated_model, calibration.means()))
        self._partly = {
            "weights": simulated(simulated_model, self.apart.only(self.all.weights, {})),
            "activations": simulated(simulated_model, self.all.only({}, self.all.tensors)),
        }
        self.scores |= {w: self.trials.measure(g, lasting=True) for w, g in self._partly.items()}

    def _apart(self, biases: Mapping[str, Mapping[int, Array]]) -> Rounding:
        """If the network is better with these biases, the file's have an error of their own."""
        apart = replace(self.all, constants=biases)
        score = self.trials.measure(simulated(self.simulated_model, apart), lasting=True)
        return self.all if score.beats(self.scores["file"], 0.0) else apart

    def watch(self, names: Collection[str]) -> None:
        """Take the statistics of these tensors; not twice of one."""
        self._take({n: self.statistics[n] for n in names}, self._samples())

    def suspicions(self, names: Collection[str]) -> dict[str, float]:
        """How likely each of these tensors costs much, as a few samples show it."""
        known = self.statistics
        few = {n: LayerStatistics(known[n].quant, known[n].shape, self.batch) for n in names}
        self._take(
            few, (self._inputs[i] for i in self.trials.spread(min(SUSPECTING, len(self._inputs))))
        )
        return {n: statistics.suspicion for n, statistics in few.items()}

    def _take(
        self, statistics: Mapping[str, LayerStatistics], samples: Iterable[Mapping[str, Array]]
    ) -> None:
        """Tensors are held until what the file's weights make of them is there as well; those that
        softmaxes read, until the sample's end."""
        graph = with_weighted_copies(self.simulated_model, self.apart, statistics)
        made = {v.name for n in graph.nodes for v in n.outputs}
        resolution, held = self._side_by_side.resolution, dict(statistics)
        wanted, complete = set(resolution.needs), dict[str, dict[str, LayerStatistics]]()
        for name, each in statistics.items():
            base = name if name in made else base_of(name)
            last = f"{base}.w" if f"{base}.w" in made else base
            wanted |= {base, last}
            if base in made and base not in resolution.needs:
                complete.setdefault(last, {})[name] = each
                del held[name]
        session = open_once(graph)
        return_freed()
        for sample in samples:
            found = self._floats(session, sample, wanted, complete)
            _add(held, found, resolution.truth(found).floors)

    @np.errstate(invalid="ignore")
    def watch_all(self) -> None:
        """Take the statistics of all, and what has come together at every tensor."""
        model = self.simulated_model
        session = open_once(with_weighted_copies(model, self.apart, self.statistics))
        partly = {which: open_once(graph) for which, graph in self._partly.items()}
        for sample in self._samples():
            found = self._floats(session, sample)
            truth = self._side_by_side.resolution.truth(found)
            for name in found:
                self.signal[name] = self.signal.get(name, 0.0) + energy(truth.of(name))
            _add(self.statistics, found, truth.floors)
            for which, part in partly.items():
                part.run_layers(sample, self._compare(which, truth))
            noise = self.noise.setdefault("file", {})
            self._side_by_side.run(sample, truth, partial(_add_noise, noise))

    def _samples(self) -> Iterator[Mapping[str, Array]]:
        for i, sample in enumerate(self._inputs):
            yield sample
            if self._progress:
                self._progress("measuring layers", i + 1, len(self._inputs))

    def _floats(
        self,
        session: Session,
        sample: Mapping[str, Array],
        wanted: Collection[str] | None = None,
        complete: Mapping[str, Mapping[str, LayerStatistics]] = MappingProxyType({}),
    ) -> dict[str, Array]:
        """The float model's tensors on a sample; those `wanted` alone. Statistics that are
        `complete` with an operator's output are taken there, and what they are of is let go."""
        found: dict[str, Array] = {}
        for port in self.simulated_model.graph.inputs:
            found[port.value.name] = np.asarray(sample[port.name])

        def keep(_: int, name: str, x: Array) -> None:
            if wanted is None or name in wanted:
                found[name] = x if name in complete else x.copy()
            if name in complete:
                _add(complete[name], found, {})
                found.pop(name.removesuffix(".w"), None)
                found.pop(name, None)

        session.run_layers(sample, keep)
        return found

    def _compare(self, which: str, truth: ReferenceTensors) -> Callable[[int, str, Array], None]:
        noise = self.noise.setdefault(which, {})

        def add(_: int, name: str, x: Array) -> None:
            if name in truth and x.size == truth.of(name).size:
                _add_noise(noise, name, x, truth.counted(name, x), truth.of(name))

        return add

    @np.errstate(invalid="ignore")
    def _score_of_file(self) -> Score:
        """At the evaluation points."""
        noise = np.zeros((len(self.trials.points), len(self.trials.kept)))
        for i, sample in enumerate(self.trials.kept):
            points = self._points_of_file(sample)
            for p, point in enumerate(self.trials.points):
                if point.tensor in points:
                    shape = sample.at_points[point.tensor].shape
                    got = point.view(points[point.tensor].reshape(shape))
                    error = got - self.trials.truth[p][i]
                    noise[p, i] = self.trials.weights[p, i] * np.sum(error * error)
        return Score(noise, self.trials.signal, self.trials.variation)

    def _points_of_file(self, sample: KeptSample) -> dict[str, Array]:
        """The file's tensors at evaluation points; those that lost channels only as outputs."""
        points: dict[str, Array] = {}
        at = {n: p for n, p in self._points_at.items() if n not in self.simulated_model.kept}
        truth = ReferenceTensors({n: sample.at_points[next(iter(p))] for n, p in at.items()}, {})

        def take(name: str, real: Array, *_: Array) -> None:
            kept = real.copy()
            points.update(dict.fromkeys(at[name], kept))

        outputs = self._side_by_side.run(sample.inputs, truth, take)
        for port in self.simulated_model.graph.outputs:  # a node's second output is not shown
            if port.name in outputs:
                points.setdefault(port.value.name, outputs[port.name])
        return points


@np.errstate(invalid="ignore")  # a tensor in front of an Imputer may be infinite
def _add(
    statistics: Mapping[str, LayerStatistics],
    found: Mapping[str, Array],
    floors: Mapping[str, Array],
) -> None:
    for name, each in statistics.items():
        base = name if name in found else base_of(name)
        if base in found:
            each.add(found[base], found.get(f"{name}.w"), floors.get(base))


def _add_noise(noise: dict[str, float], name: str, _: Array, counted: Array, truth: Array) -> None:
    noise[name] = noise.get(name, 0.0) + energy(counted - truth)


def _shapes(simulated_model: SimulatedModel) -> dict[str, Shape]:
    """Of the float graph's tensors; those of rank 0 and the inputs are one channel."""
    shapes = {v.name: v.shape or (1,) for n in simulated_model.graph.nodes for v in n.outputs}
    return shapes | {p.value.name: (p.value.type.size,) for p in simulated_model.graph.inputs}


def _with_points(graph: Graph, inputs: Sequence[Mapping[str, Array]]) -> Calibration:
    """The samples with what the float graph has at its evaluation points, and the channel means of
    what its weights read."""
    points = find_evaluation_points(graph)
    session = open_once(with_evaluation_points(graph, points)) if points else None
    weighed = views(graph, read_by_weights(graph))
    kept, file = list[KeptSample](), ArrayFile()
    for sample in inputs:
        means = dict[str, NDArray[np.float64]]()

        def see(_: int, name: str, x: Array, means: dict[str, NDArray[np.float64]] = means) -> None:
            for reader, shape in weighed.get(name, ()):
                means[reader] = channel_means(x.reshape(shape))

        for port in graph.inputs:
            if port.value.name in weighed:  # each is read where it lies in a file
                see(0, port.value.name, np.asarray(sample[port.name]))
        at_points = FiledArrays(file, {} if session is None else session.run_layers(sample, see))
        if not isinstance(sample, FiledArrays):  # else they stay in their file
            sample = {k: np.asarray(v) for k, v in sample.items()}
        kept.append(KeptSample(sample, at_points, means, energies_of(sample)))
    return Calibration({}, kept, fitted(points, kept, inputs_with_levels(graph)), len(kept))

"""One pass over samples: what each tensor loses by itself, and what has come together there."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from ..build import open_once
from ..ir import Array, Graph, Shape
from ..progress import Progress
from ..quantize import (
    Calibration,
    CandidateEvaluator,
    EvaluationPoint,
    KeptSample,
    Score,
    find_evaluation_points,
    with_evaluation_points,
)
from ..runtime import Session
from .evaluation_set import batch_of
from .layer_statistics import LayerStatistics
from .metrics import energy
from .rounding_simulation import Rounding, simulated, sources, with_weighted_copies
from .side_by_side import SideBySideRunner
from .simulated_model import SimulatedModel, base_of
from .softmax_resolution import ReferenceTensors


class ActivationStatistics:
    """A file on samples, of which the model takes `batch` at a time.

    facts                     of every tensor that the file rounds, by name
    signal                    sums of squares of every tensor of the float model
    noise                     by "file", "weights" and "activations": of every tensor's error in the
                              file, and with only weights or activations rounded
    all                       what the file rounds
    scores                    at the evaluation points, likewise by "file", "weights" and
                              "activations"
    """

    def __init__(
        self,
        edge: Session,
        simulated_model: SimulatedModel,
        inputs: Sequence[Mapping[str, Array]],
        progress: Progress | None = None,
    ) -> None:
        self.simulated_model, self.all = simulated_model, sources(simulated_model)
        self.trials = CandidateEvaluator(_with_points(simulated_model.graph, inputs))
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
        self._side_by_side = SideBySideRunner(edge, simulated_model.graph)
        by_name = {v.name: v for v in simulated_model.graph.values()}
        self._points_at: dict[str, set[str]] = {}
        for point in self.trials.points:
            at = simulated_model.source(by_name[point.tensor]).name
            self._points_at.setdefault(at, set()).add(point.tensor)
        self._float = open_once(with_weighted_copies(simulated_model))
        partly = {
            "weights": simulated(simulated_model, Rounding(self.all.weights)),
            "activations": simulated(simulated_model, Rounding(tensors=self.all.tensors)),
        }
        self._partly = {which: open_once(graph) for which, graph in partly.items()}
        self._point_noise = np.zeros((len(self.trials.points), len(inputs)))
        for i, sample in enumerate(inputs):
            self._add(i, sample)
            if progress:
                progress("measuring layers", i + 1, len(inputs))
        self.scores = {
            "file": Score(self._point_noise, self.trials.signal),
            **{which: self.trials.measure(graph) for which, graph in partly.items()},
        }

    @np.errstate(invalid="ignore")  # a tensor in front of an Imputer may be infinite
    def _add(self, i: int, sample: Mapping[str, Array]) -> None:
        found: dict[str, Array] = {}
        for port in self.simulated_model.graph.inputs:
            found[port.value.name] = np.asarray(sample[port.name])
        self._float.run_layers(sample, lambda _, name, x: found.update({name: x.copy()}))
        truth = self._side_by_side.resolution.truth(found)
        for name in found:
            self.signal[name] = self.signal.get(name, 0.0) + energy(truth.of(name))
        for name, statistics in self.statistics.items():
            base = name if name in found else base_of(name)
            if base in found:
                statistics.add(found[base], found.get(f"{name}.w"), truth.floors.get(base))
        for which, session in self._partly.items():
            session.run_layers(sample, self._compare(which, truth))
        self._run_file(i, sample, truth)

    def _compare(self, which: str, truth: ReferenceTensors) -> Callable[[int, str, Array], None]:
        noise = self.noise.setdefault(which, {})

        def add(_: int, name: str, x: Array) -> None:
            if name in truth and x.size == truth.of(name).size:
                error = truth.counted(name, x) - truth.of(name)
                noise[name] = noise.get(name, 0.0) + energy(error)

        return add

    def _run_file(self, i: int, sample: Mapping[str, Array], truth: ReferenceTensors) -> None:
        noise = self.noise.setdefault("file", {})
        points: dict[str, Array] = {}

        def add(name: str, real: Array, counted: Array, whole: Array) -> None:
            noise[name] = noise.get(name, 0.0) + energy(counted - whole)
            for point in (
                self._points_at.get(name, ()) if name not in self.simulated_model.kept else ()
            ):
                points[point] = real.copy()

        outputs = self._side_by_side.run(sample, truth, add)
        for port in self.simulated_model.graph.outputs:  # a node's second output is not shown
            if port.name in outputs:
                points.setdefault(port.value.name, outputs[port.name])
        for p, point in enumerate(self.trials.points):
            if point.tensor in points:
                seen = self.trials.truth[p][i]
                error = point.view(points[point.tensor].reshape(seen.shape)) - seen
                self._point_noise[p, i] = np.sum(error * error)


def _shapes(simulated_model: SimulatedModel) -> dict[str, Shape]:
    """Of the float graph's tensors; those of rank 0 and the inputs are one channel."""
    shapes = {v.name: v.shape or (1,) for n in simulated_model.graph.nodes for v in n.outputs}
    return shapes | {p.value.name: (p.value.type.size,) for p in simulated_model.graph.inputs}


def _with_points(graph: Graph, inputs: Sequence[Mapping[str, Array]]) -> Calibration:
    """The samples with what the float graph has at its evaluation points."""
    points = find_evaluation_points(graph)
    session = open_once(with_evaluation_points(graph, points)) if points else None
    kept: list[KeptSample] = []
    for sample in inputs:
        at_points = {} if session is None else session.run(sample)
        kept.append(KeptSample({k: np.asarray(v) for k, v in sample.items()}, at_points))
    fitted: list[EvaluationPoint] = []
    for p in points:
        fitted += p.fitted(s.at_points[p.tensor] for s in kept)
    return Calibration({}, kept, fitted, len(kept))

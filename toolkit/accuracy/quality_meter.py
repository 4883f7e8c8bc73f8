"""The verdict on a file from any samples, as `quantize` has it from those of calibration."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from ..build import open_once
from ..ir import Array, Graph, QuantParams
from ..numerics import FLOAT
from ..ops import is_a, is_view
from ..ops.convert.fake_quantize import FakeQuantize, arrives_quantized
from ..quantize import Keeper, KeptSample, find_evaluation_points, prepare
from ..quantize.outputs.answers import Answers
from ..quantize.outputs.differences import inputs_with_levels
from ..quantize.outputs.evaluation_points import EvaluationPoint, fitted, with_evaluation_points
from ..quantize.outputs.figures import Figures
from ..quantize.outputs.kept_samples import energies_of
from ..quantize.outputs.levels import level_weights
from ..quantize.outputs.signals import energies, variations
from ..quantize.quality import Quality
from ..quantize.ranges.candidate_evaluation import Score
from ..runtime import Session

GOT = "got:"


class QualityMeter:
    """Compares a file with the float `graph` where quantize.quality does, on at most 256 samples.

    Of a `session` on this machine tensors inside the network are seen; of a device (None), or where
    the file has no names, the outputs alone: a softmax is then judged by its probabilities.
    """

    def __init__(self, graph: Graph, session: Session | None) -> None:
        # A model that arrives quantized is the reference as it is, with its grids.
        prepared = graph if arrives_quantized(graph) else prepare(graph)
        names = set() if session is None else {out.name for out in session.op_outputs}
        self.points = find_evaluation_points(prepared, inside=any(names))
        self._prepared = prepared
        makers = {of.tensor: of.made for of in Answers(prepared, self.points, []).compared}
        outputs = _outputs_of(prepared)
        self._instead = {t: outputs.get(made, made) for t, made in makers.items() if made != t}
        self._ports = {p.name: p.value.name for p in prepared.outputs}
        self._session = session
        tensors, outside = {t for p in self.points for t in p.tensors}, set(self._ports.values())
        self._inside = (tensors - outside) & names
        seen = outside | self._inside
        if not any({p.tensor, self._instead.get(p.tensor)} & seen for p in self.points):
            floats = (p.value for p in prepared.outputs if p.value.dtype == FLOAT)
            self.points = [EvaluationPoint(v.name) for v in floats if v in prepared.producers()]
        self._floats = open_once(with_evaluation_points(prepared, self.points))
        self._followed = inputs_with_levels(prepared)
        self._keeper = Keeper()

    def add(self, sample: Mapping[str, Array], got: Mapping[str, Array]) -> None:
        """Take in a sample, by ONNX name, and the file's outputs to it."""
        if self._keeper.wants() and self.points:
            truth = self._floats.run(sample)
            found = {value: got[port] for port, value in self._ports.items() if port in got}
            found |= self._see_inside(sample)
            of_file = {
                GOT + name: np.array(x)
                for name, x in found.items()
                if name not in truth or x.size == truth[name].size
            }
            inputs = {name: sample[name] for p in self.points for name in p.rebuilt}
            kept = KeptSample(inputs, {**truth, **of_file}, energies=energies_of(sample))
            self._keeper.add(kept)
        self._keeper.seen += 1

    def _see_inside(self, sample: Mapping[str, Array]) -> dict[str, Array]:
        """What the file has at the evaluation points, as real numbers."""
        found: dict[str, Array] = {}
        if self._session is None or not self._inside:
            return found
        outputs = self._session.op_outputs

        def see(i: int, name: str, array: Array) -> None:
            if name in self._inside:
                out = outputs[i]
                quant = QuantParams((out.scale,), out.zero_point) if out.scale else None
                found[name] = array.copy() if quant is None else quant.dequantize(array)

        self._session.run_layers(sample, see)
        return found

    def quality(self, batch: int = 1) -> Quality | None:
        """The verdict, on runs of `batch` samples each; None where nothing can be compared."""
        kept = self._keeper.kept
        if not kept:
            return None
        some = kept[0].at_points
        points: list[EvaluationPoint] = []
        for p in self.points:
            if p.logit is not None and GOT + p.logit not in some:
                p = replace(p, logit=None)
            if GOT + p.tensor in some:
                points += fitted([p], kept, self._followed)
            elif GOT + self._instead.get(p.tensor, "") in some:
                points.append(p)
        truth = [[p.view(s.at_points[p.tensor]) for s in kept] for p in points]
        weights, noise = level_weights(points, kept), np.zeros((len(points), len(kept)))
        for k, p in enumerate(points):
            for i, s in enumerate(kept):
                error = self._view(p, s).reshape(truth[k][i].shape) - truth[k][i]
                noise[k, i] = weights[k, i] * np.sum(error * error)
        score = Score(noise, energies(truth, weights), variations(points, truth, weights))
        figures = Figures(self._prepared, points, kept)
        rows = [figures.rows([s.at_points], {n: x[None] for n, x in _got(s).items()}) for s in kept]
        told = figures.told(np.concatenate(rows))
        found = Quality.of(score, points, held_out=True, **told)
        return replace(found, samples=found.samples * batch)

    def _view(self, point: EvaluationPoint, sample: KeptSample) -> Array:
        at = sample.at_points
        if GOT + point.tensor in at:
            x = at[GOT + point.tensor]
            return point.view(x.reshape(at[point.tensor].shape))
        return at[GOT + self._instead[point.tensor]].astype(np.float64)


def _outputs_of(graph: Graph) -> dict[str, str]:
    """The graph outputs that have the numbers of another tensor in their order, by its name."""
    made_by, found = graph.producers(), dict[str, str]()
    for port in graph.outputs:
        v = port.value
        while (node := made_by.get(v)) and (is_view(node) or is_a(node, FakeQuantize)):
            v = node.input(0)
            found[v.name] = port.value.name
    return found


def _got(sample: KeptSample) -> dict[str, Array]:
    return {n[len(GOT) :]: x for n, x in sample.at_points.items() if n.startswith(GOT)}

"""One pass over samples: what each tensor loses by itself, and what has come together there."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from ..build import open_once
from ..ir import Array, Graph, Shape
from ..progress import Progress
from ..quantize import Calibration, KeptSample, Probe, Score, Trials, find_probes, with_probes
from ..runtime import Session
from .beside import Beside
from .evidence import batch_of
from .facts import Facts
from .metrics import energy
from .resolved import Truth
from .simulate import Rounding, simulated, sources, with_weighted
from .twin import Twin, base_of


class Watched:
    """A file on samples, of which the model takes `batch` at a time.

    facts                     of every tensor that the file rounds, by name
    signal                    sums of squares of every tensor of the float model
    noise                     by "file", "weights" and "activations": of every tensor's error in the
                              file, and with only weights or activations rounded
    all                       what the file rounds
    scores                    at the probes, likewise by "file", "weights" and "activations"
    """

    def __init__(
        self,
        edge: Session,
        twin: Twin,
        inputs: Sequence[Mapping[str, Array]],
        progress: Progress | None = None,
    ) -> None:
        self.twin, self.all = twin, sources(twin)
        self.trials = Trials(_probed(twin.graph, inputs))
        shapes = _shapes(twin)
        known = {n: shapes.get(n) or shapes.get(base_of(n)) for n in twin.quant}
        self.batch = batch_of(twin.graph)
        self.facts = {
            n: Facts(twin.quant[n], shape, self.batch) for n, shape in known.items() if shape
        }
        self.signal: dict[str, float] = {}
        self.noise: dict[str, dict[str, float]] = {}
        self._beside = Beside(edge, twin.graph)
        by_name = {v.name: v for v in twin.graph.values()}
        self._probes_at: dict[str, set[str]] = {}
        for probe in self.trials.probes:
            at = twin.source(by_name[probe.tensor]).name
            self._probes_at.setdefault(at, set()).add(probe.tensor)
        self._float = open_once(with_weighted(twin))
        partly = {
            "weights": simulated(twin, Rounding(self.all.weights)),
            "activations": simulated(twin, Rounding(tensors=self.all.tensors)),
        }
        self._partly = {which: open_once(graph) for which, graph in partly.items()}
        self._probe_noise = np.zeros((len(self.trials.probes), len(inputs)))
        for i, sample in enumerate(inputs):
            self._add(i, sample)
            if progress:
                progress("watching layers", i + 1, len(inputs))
        self.scores = {
            "file": Score(self._probe_noise, self.trials.signal),
            **{which: self.trials.measure(graph) for which, graph in partly.items()},
        }

    def _add(self, i: int, sample: Mapping[str, Array]) -> None:
        found: dict[str, Array] = {}
        for port in self.twin.graph.inputs:
            found[port.value.name] = np.asarray(sample[port.name])
        self._float.run_layers(sample, lambda _, name, x: found.update({name: x.copy()}))
        truth = self._beside.resolved.truth(found)
        for name in found:
            self.signal[name] = self.signal.get(name, 0.0) + energy(truth.of(name))
        for name, facts in self.facts.items():
            base = name if name in found else base_of(name)
            if base in found:
                facts.add(found[base], found.get(f"{name}.w"), truth.floors.get(base))
        for which, session in self._partly.items():
            session.run_layers(sample, self._compare(which, truth))
        self._run_file(i, sample, truth)

    def _compare(self, which: str, truth: Truth) -> Callable[[int, str, Array], None]:
        noise = self.noise.setdefault(which, {})

        def add(_: int, name: str, x: Array) -> None:
            if name in truth and x.size == truth.of(name).size:
                error = truth.counted(name, x) - truth.of(name)
                noise[name] = noise.get(name, 0.0) + energy(error)

        return add

    def _run_file(self, i: int, sample: Mapping[str, Array], truth: Truth) -> None:
        noise = self.noise.setdefault("file", {})
        probes: dict[str, Array] = {}

        def add(name: str, real: Array, counted: Array, whole: Array) -> None:
            noise[name] = noise.get(name, 0.0) + energy(counted - whole)
            for probe in self._probes_at.get(name, ()) if name not in self.twin.kept else ():
                probes[probe] = real.copy()

        self._beside.run(sample, truth, add)
        for p, probe in enumerate(self.trials.probes):
            if probe.tensor in probes:
                seen = self.trials.truth[p][i]
                error = probe.view(probes[probe.tensor].reshape(seen.shape)) - seen
                self._probe_noise[p, i] = np.sum(error * error)


def _shapes(twin: Twin) -> dict[str, Shape]:
    """Of the float graph's tensors; those of rank 0 and the inputs are one channel."""
    shapes = {v.name: v.shape or (1,) for n in twin.graph.nodes for v in n.outputs}
    return shapes | {p.value.name: (p.value.type.size,) for p in twin.graph.inputs}


def _probed(graph: Graph, inputs: Sequence[Mapping[str, Array]]) -> Calibration:
    """The samples with what the float graph has at its probes."""
    probes = find_probes(graph)
    session = open_once(with_probes(graph, probes)) if probes else None
    kept: list[KeptSample] = []
    for sample in inputs:
        probed = {} if session is None else session.run(sample)
        kept.append(KeptSample({k: np.asarray(v) for k, v in sample.items()}, probed))
    fitted: list[Probe] = []
    for p in probes:
        fitted += p.fitted(s.probed[p.tensor] for s in kept)
    return Calibration({}, kept, fitted, len(kept))

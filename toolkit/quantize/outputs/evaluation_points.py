"""Where a quantized model is compared with the float one while it is being tuned.

That is at its outputs, or where the floats are that an output of integers is made from; and for a
softmax also at a softened one: how far probabilities are off hangs on the few samples that the
model is in doubt about, and a tuning by them alone fits those. At a temperature where a typical
sample is in some doubt, every sample has its say.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from ....calibration import median
from ...format.schema import UnaryFn
from ...ir import Array, Graph, Node, Port, Value
from ...numerics import FLOAT
from ...ops import computes, is_a
from ...ops.convert.fake_quantize import FakeQuantize
from ...ops.norm.softmax import compares_classes, makes_shares
from ...ops.reduction.arg_max import ARG_MAX
from ...passes.quantized.finite_masks import MASKED
from ..scheme.detection_head import PROBABILITY, joining_shares
from ..scheme.divisors import restored
from ..scheme.masked_outputs import masking
from ..scheme.moves import maker_of
from .differences import inputs_rebuilt_by, with_counted_part
from .kept_samples import KeptSample
from .levels import followed_input
from .ratios import least_of_ratios, logarithms
from .raw_scores import are_scores, raw_scores
from .selections import selected
from .skips import added_to_inputs
from .unlike_parts import unlike_parts
from .votes import are_votes

REACH = float(np.log(512))
"""Below the best class by this, softmax gives less than half a step of its int8 output; so does the
sigmoid of a logit below -REACH."""
ROOM = 0.5
"""Of what is kept of a softmax's input, for samples that calibration does not see."""
FEW_SHARES, MANY_NUMBERS = 4, 512
"""Along an axis this short numpy's reductions of many numbers take longer than those of parts."""
MARGIN = 2.0
"""Between the two best classes of the median sample, after division by the temperature."""
THRESHOLD = 0.5
"""The probability from which the answer is yes."""
LEAST_CERTAIN = 0.75
"""Mean probability of certain answers: half-way from chance to certainty."""

EMPTY = 0.05
"""Maximum mean of a map of probabilities without detections. Other maps that a sigmoid limits, such
as disparities, have more."""
LEAST_DETECTIONS = 50
"""Least number of detections on all samples: fewer say little."""
DETECTION = 2.5
"""What the scores of a sample without a detection are measured against: an error of a tenth, even
if it is that of one score, leaves it below THRESHOLD."""


@dataclass(frozen=True)
class EvaluationPoint:
    """A tensor; with `axis`, what counts is its softmax along that axis at `temperature`.

    `lowest`: below it values make no difference to a softmax. None is set if `shared`, when
    something else reads the tensor too. `votes` are made of comparisons: what counts of them is
    the class alone. `number`: only this number of the tensor counts, or with `along` this channel
    of that axis. `between`: what its numbers differ by from their mean counts.

    `logit`: of a probability of yes or no, the tensor that counts instead if the samples show one
    answer only (`fitted`): such probabilities differ by less than a step of int8. `yes_no`: this is
    such a tensor; what counts is its sigmoid at `temperature`, within REACH.

    `raw`: possibly logits of scores beside boxes (raw_scores.py), of so many classes at each place.
    If the samples look like it (`fitted`), it is `yes_no` at temperature 1, and `empty` with few
    detections.

    `scores`: many probabilities, which are `empty` if the samples have none of a detection
    (`fitted`): their error counts relative to DETECTION, as what is next to 0 may be off by much.

    `masks`: a mask may lower some of its numbers, which do not count: they are `fill` if the
    samples show that (`fitted`).

    `added`: of a sum of an input and what the network adds, the latter. `rebuilt`: the inputs that
    the tensor may rebuild. Of the tensor's energy what is added, or the difference from the input,
    has that `part` (`fitted`), relative to which the error counts.

    `follows`: the input whose level the tensor's follows, as that of a denoiser the sound's
    (`fitted`). Errors count relative to it.

    `least`: errors count relative to each number, or to this one if it is smaller (`fitted`).
    """

    tensor: str
    axis: int | None = None
    temperature: float = 1.0
    lowest: float = -np.inf
    shared: bool = False
    votes: bool = False
    number: int | None = None
    along: int | None = None
    between: bool = False
    logit: str | None = None
    yes_no: bool = False
    raw: int = 0
    scores: bool = False
    empty: bool = False
    added: str | None = None
    rebuilt: tuple[str, ...] = ()
    part: float = 1.0
    masks: bool = False
    fill: float | None = None
    follows: str | None = None
    least: float | None = None

    @property
    def tensors(self) -> list[str]:
        """The tensors to observe."""
        return [name for name in (self.tensor, self.logit, self.added) if name is not None]

    @property
    def is_relative(self) -> bool:
        """Whether errors count relative to a level, or to each number."""
        return self.follows is not None or self.least is not None

    def view(self, x: Array, of_many: bool = False) -> NDArray[np.float64]:
        """What counts of a sample's tensor; of many: of each along a first axis more."""
        if self.number is not None and self.along is not None:
            x = x.take([self.number], self.along + 1 if of_many else self.along)
        elif self.number is not None:
            x = x.reshape(*x.shape[: 1 if of_many else 0], -1)[..., [self.number]]
        y = x.astype(np.float64)
        if self.fill is not None:
            y = np.where(y <= MASKED, self.fill, y)
        if self.between:
            y = y.reshape(*y.shape[: 1 if of_many else 0], -1)
            y -= y.mean(axis=-1, keepdims=True)
        if self.yes_no:
            y = 1 / (1 + np.exp(-_limited(y) / self.temperature))
        if self.empty:
            rows = y.reshape(len(y) if of_many else 1, -1)
            with_one = np.pad(rows, ((0, 0), (0, 1)), constant_values=DETECTION)
            return with_one if of_many else with_one[0]
        if self.least is not None:
            return logarithms(y, self.least)
        if self.axis is None:
            return y
        y = np.maximum(y, self.lowest) / self.temperature
        return shares(y, self.axis + 1 if of_many and self.axis >= 0 else self.axis)

    def fitted(self, samples: Iterable[Array]) -> list[EvaluationPoint]:
        """Itself; of a softmax, with its lowest value, and once more at a temperature, by these
        samples; of few numbers or channels of unlike magnitudes, each of them; of few numbers that
        rise and fall together, what they differ by as well.

        A class counts within REACH of the best one. Other samples may have a best one that is lower
        than any here: what is kept reaches below that by ROOM of itself.
        """
        if self.votes:
            return [self]
        if self.yes_no:
            far = median(np.abs([_limited(x.ravel()) for x in samples]))
            return [replace(self, temperature=max(1.0, far / MARGIN))]
        if self.rebuilt:  # the squared differences of all its numbers are summed up
            return [self]
        if self.axis is None:
            parts = unlike_parts(self.view(x) for x in samples)
            if parts.together:
                return [self, replace(self, between=True)]
            return [replace(self, number=i, along=parts.along) for i in parts.each] or [self]
        margins, low, high = list[float](), np.inf, -np.inf
        for x in samples:
            best = np.sort(x.astype(np.float64), axis=self.axis).take([-1, -2], self.axis)
            first, second = np.moveaxis(best, self.axis, 0)
            margins.append(median(first - second))
            low, high = min(low, first.min() - REACH), max(high, first.max())
        lowest = float(low - ROOM * (high - low))
        limited = self if self.shared else replace(self, lowest=lowest)
        temperature = max(1.0, median(margins) / MARGIN)
        return list(dict.fromkeys([limited, replace(limited, temperature=temperature)]))


def _mean_of_unmasked(samples: Sequence[KeptSample], tensor: str) -> float | None:
    """Of numbers that are masked here and there, and far above the mask else."""
    values = [s.at_points[tensor] for s in samples]
    rest = np.concatenate([x[x > MASKED] for x in values])
    masked = rest.size < sum(x.size for x in values)
    if not masked or not rest.size or rest.min() < MASKED / 2:
        return None
    return float(rest.mean(dtype=np.float64))


def fitted(
    points: Sequence[EvaluationPoint], samples: Sequence[KeptSample], inputs: Collection[str] = ()
) -> list[EvaluationPoint]:
    """The points fitted to the values of samples; they may follow one of the `inputs`. A
    probability of which the samples show one answer only is replaced by its logit, if they have
    that; scores may be empty."""
    found: list[EvaluationPoint] = []
    for p in points:
        at = replace(p, logit=None, scores=False, raw=0)
        logit = p.logit if p.logit in samples[0].at_points else None
        if p.scores and have_no_detection([s.at_points[p.tensor] for s in samples]):
            found.append(replace(at, empty=True, rebuilt=()))
            continue
        if p.raw and are_scores([s.at_points[p.tensor] for s in samples], p.raw):
            count = sum(np.count_nonzero(s.at_points[p.tensor] > 0) for s in samples)
            few = bool(count < LEAST_DETECTIONS)
            found.append(replace(at, yes_no=True, empty=few, rebuilt=()))
            continue
        if logit is not None and shows_one_answer([s.at_points[p.tensor] for s in samples]):
            at = EvaluationPoint(logit, yes_no=True)
        at = replace(at, fill=_mean_of_unmasked(samples, at.tensor) if at.masks else None)
        if at.fill is None:
            at = with_counted_part(at, samples)
        fits = at.fitted(s.at_points[at.tensor] for s in samples)
        plain = fits == [EvaluationPoint(at.tensor)] and not (p.scores or p.rebuilt)
        if plain and (least := least_of_ratios([s.at_points[at.tensor] for s in samples])):
            found.append(replace(at, least=least))
            continue
        fits = [replace(fit, follows=followed_input(fit, samples, inputs)) for fit in fits]
        # What a series has in common is its level then, which errors are relative to.
        found += [fit for fit in fits if not (fit.between and fits[0].follows)]
    return found


def _limited(logits: Array) -> Array:
    """Logits of probabilities that int8 tells from 0 and 1."""
    return np.clip(logits, -REACH, REACH)


def shows_one_answer(samples: Sequence[Array]) -> bool:
    """Whether probabilities of yes are all on one side of THRESHOLD, and on average certain: other
    numbers that a sigmoid limits, such as coordinates, are less so."""
    apart = [x - THRESHOLD for x in samples]
    one = all((x < 0).all() for x in apart) or all((x > 0).all() for x in apart)
    return one and float(np.mean([np.abs(x).mean() for x in apart])) >= LEAST_CERTAIN - THRESHOLD


def have_no_detection(samples: Sequence[Array]) -> bool:
    """Whether all scores of a detector are far below THRESHOLD."""
    low = all((x < THRESHOLD / 2).all() for x in samples)
    return low and float(np.mean([x.mean() for x in samples])) <= EMPTY


def shares(logits: Array, axis: int) -> NDArray[np.float64]:
    """The softmax along an axis, of any shape."""
    y = logits.astype(np.float64)
    n = y.shape[axis]
    apart = n <= FEW_SHARES and y.size >= MANY_NUMBERS
    top = reduce(np.maximum, np.split(y, n, axis)) if apart else y.max(axis=axis, keepdims=True)
    e: NDArray[np.float64] = np.exp(y - top)
    pairs = apart and n == 2  # of more the order of the sum would be another
    total = np.add(*np.split(e, n, axis)) if pairs else e.sum(axis=axis, keepdims=True)
    found: NDArray[np.float64] = e / total
    return found


def find_evaluation_points(graph: Graph, inside: bool = True) -> list[EvaluationPoint]:
    """What the graph's outputs are judged by, those that meet counted once.

    An output of floats is a evaluation point, or the input of the softmax that makes it. One of
    integers or bools hides most errors, so the floats that it is made from stand for it: of an
    ArgMax the softmax of what it compares. None where another output shows those already.
    An output that joins probabilities with other numbers (scores beside boxes) is judged by each of
    them if what is `inside` the network can be seen: the larger numbers are nearly all of it. For
    an output that a ranking selects (selections.py), the ranked scores and the tensors it selects
    from are evaluated.
    """
    made = _Made(graph, inside)
    whole = [p.value for p in graph.outputs if p.value.dtype != FLOAT]
    found = [p for port in graph.outputs for p in made.points(port.value)]
    shown = {p.tensor for p in found}
    found += [p for v in whole for p in made.before_steps(v) if p.tensor not in shown]
    return list(dict.fromkeys(found))


def on_grid(v: Value, made_by: Mapping[Value, Node]) -> Value:
    """What a quantized graph has of a tensor inside the network under its name: of a FakeQuantize
    the input, whose maker computes it on the grid, unless that is one, too (given.py)."""
    node = made_by.get(v)
    if node is None or not is_a(node, FakeQuantize):
        return v
    maker = made_by.get(node.input(0))
    return v if maker is None or is_a(maker, FakeQuantize) else node.input(0)


class _Made:
    """Where tensors of a graph come from."""

    def __init__(self, graph: Graph, inside: bool) -> None:
        self.by, self.readers = graph.producers(), graph.consumers()
        self.inside = inside
        self.joins = set(joining_shares(graph)) if inside else set()
        self.masking = masking(graph)
        self.selected = selected(graph) if inside else frozenset[Value]()
        self.behind = dict[Value, list[EvaluationPoint]]()
        self.added = added_to_inputs(graph) if inside else dict[Value, Value]()
        self.graph = graph
        self.outputs = graph.output_values()
        self.restored = restored(graph) if inside else {}
        self.raw = raw_scores(graph)

    def points(self, v: Value) -> list[EvaluationPoint]:
        """Of a tensor of floats; none of one that is given or constant, or of another type."""
        if v in self.selected and (ranked := self.before_selection(v)):
            return ranked
        node = maker_of(v, self.by)
        if node in self.joins:
            return [p for x in node.dynamic_inputs for p in self.points(x)]
        if node is not None and compares_classes(node) and node.input(0) in self.by:
            return self._softmax_of(node.input(0), int(node.attrs.get("axis", -1)), node)
        if v.dtype != FLOAT or v not in self.by:
            return []
        normalized = self.points(self.restored[v].normalized) if v in self.restored else []
        many = v.type.size > 1
        scores = many and node is not None and computes(node, *PROBABILITY)
        return [
            EvaluationPoint(
                self._kept(v).name,
                logit=self._logit_of(v, node),
                scores=scores,
                raw=self.raw.get(v, 0),
                added=self._added_in(v, node),
                rebuilt=inputs_rebuilt_by(v, self.graph) if v in self.outputs else (),
                masks=node in self.masking,
            ),
            *normalized,
        ]

    def _added_in(self, v: Value, node: Node | None) -> str | None:
        """Of a sum with an input, which `node` computes and `v` is moved from, what is added."""
        added = None if node is None else self.added.get(node.output)
        return added.name if added is not None and added.type.size == v.type.size else None

    def _logit_of(self, v: Value, node: Node | None) -> str | None:
        """Of a single probability the tensor whose sigmoid it is, which `node` reads."""
        if not self.inside or v.type.size > 1 or node is None:
            return None
        z = node.inputs[0] if computes(node, UnaryFn.Sigmoid) else None
        return self._kept(z).name if z is not None and z in self.by else None

    def _kept(self, v: Value) -> Value:
        return v if v in self.outputs else on_grid(v, self.by)

    def before_selection(self, v: Value) -> list[EvaluationPoint]:
        """The points of the ranked floats and of those selected from, for a tensor selected by a
        ranking."""
        if v not in self.behind:
            read = self.by[v].dynamic_inputs
            told = [self.points(x) if x.dtype == FLOAT else self.before_steps(x) for x in read]
            self.behind[v] = list(dict.fromkeys(p for points in told for p in points))
        return self.behind[v]

    def before_steps(self, v: Value) -> list[EvaluationPoint]:
        """Of the floats that a tensor of another type is made from."""
        found: list[EvaluationPoint] = []
        todo, seen = [v], {v}
        while todo:
            node = self.by.get(todo.pop())
            if node is None:
                continue
            for x in node.dynamic_inputs:
                votes = x.dtype == FLOAT and are_votes(self.by, x)
                if x.dtype == FLOAT:
                    found += self._compared(x, node, votes)
                if (votes or x.dtype != FLOAT) and x not in seen:
                    seen.add(x)
                    todo.append(x)
        return found

    def _compared(self, x: Value, reader: Node, votes: bool) -> list[EvaluationPoint]:
        found = self.points(x)
        if reader.op == ARG_MAX.name and [p.tensor for p in found] == [self._kept(x).name]:
            found = self._softmax_of(x, reader.attrs["axis"], reader)
            return [replace(p, votes=True) for p in found] if votes else found
        return [] if votes else found

    def _softmax_of(self, x: Value, axis: int, reader: Node) -> list[EvaluationPoint]:
        others = x in self.outputs or any(r is not reader for r in self.readers[x])
        shared = others or not (makes_shares(reader) or reader.op == ARG_MAX.name)
        name = self._kept(x).name
        return [EvaluationPoint(name, axis, shared=shared)] if x.shape[axis] > 1 else []


def with_evaluation_points(graph: Graph, points: Sequence[EvaluationPoint]) -> Graph:
    """`graph` whose outputs are the evaluated tensors, by their names; those it lacks are left
    out."""
    by_name: dict[str, Value] = {v.name: v for n in graph.nodes for v in n.outputs}
    tensors = dict.fromkeys(name for p in points for name in p.tensors)
    found = [by_name[name] for name in tensors if name in by_name]
    return Graph(graph.nodes, graph.inputs, [Port(v.name, v, 1, v.shape) for v in found])

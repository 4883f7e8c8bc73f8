"""Which class a quantized model answers, against the float model: no labels are needed.

SQNR does not see that two classes have become equal, nor that an error of 30 dB decides between
two that are as likely. Counted where a softmax or an arg-max compares classes, where an output
looks like the logits of a classifier, as PyTorch models have them, and where a sigmoid decides
between yes and no.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ...format.schema import BinaryFn, ReduceFn
from ...ir import Array, Graph, Node, Value
from ...ops import computes, definition, is_a
from ...ops.move.concat import Concat
from ...ops.norm.softmax import compares_classes
from ...ops.reduction.arg_max import ARG_MAX, ArgMax
from ...passes.quantized.finite_masks import MASKED
from ..scheme.detection_head import PROBABILITY
from ..scheme.masked_outputs import masking
from ..scheme.moves import axis_behind, maker_of
from .evaluation_points import EvaluationPoint, on_grid, shares
from .kept_samples import KeptSample

SEEN = 0.5
"""Of the numbers of an output, the part that must be the largest on some sample for it to be
logits: coordinates have few that ever are."""
SEEN_OF_MANY, UNLIKE = 16, 0.25
"""Of more than MOST_CLASSES in several rows, such as characters, as many are enough if neighbours
are unlike: their correlation is less than this. That of frequencies, pixels or dates is more."""
TOGETHER = 1.0
"""By how much the mean of logits moves from sample to sample, relative to how they differ in one:
less than this. Cross-entropy has no gradient along it; the numbers of a forecast rise together."""
CERTAIN, YES_CERTAIN = 1 / 3, 1 / 2
"""The least way from chance to certainty that the probability of the best class has come, on
average: of a weak classifier with a top-1 of 0.54 for ten classes it is about a half, and as int8
it gave 8 % other answers at 22 dB. Of yes or no: other numbers that a sigmoid limits have less."""
ROWS_CERTAIN = 0.75
"""Mean probability of the best class where an output has several rows of logits: unlike those of
features, such as embeddings of tokens."""
FIGURES = 5
"""Of a sample: `Answers.rows` has them."""
_LAST = (BinaryFn.Add, ReduceFn.Mean)
"""What makes logits, beside sums of products."""
SOME_ROWS = 256
"""Of a sample, that show what an output is."""
MOST_CLASSES, LEAST_ROWS = 256, 32
"""Maximum number of classes, and least number of rows of a sample, that have masks (masks.py)."""
SUREST = 1 - 2.0**-9
"""Probabilities of yes or no count as at most this: int8 has steps of 2**-8."""


@dataclass(frozen=True)
class AnswerLoss:
    """Of the rows in which classes are compared, on average over the samples: the share whose best
    class is another than the float model's (`changed`), or one of several that are equal (`tied`).
    If most rows have one class, the shares are relative to the others (`Compared.events`).

    `expected` is what the share of right answers loses if the float model's probabilities are
    right: that of its best class less that of the one answered. `chance` is the share that would
    change or tie if the error on each sample met the lead of the best class on every other: few
    samples tell more by that. It is the share that did where not one row a sample is compared.
    """

    changed: float
    tied: float
    expected: float
    chance: float = 0.0

    @property
    def in_doubt(self) -> float:
        """The share of answers that are others, or others by luck."""
        return self.changed + self.tied


@dataclass(frozen=True)
class Compared:
    """A tensor whose largest number along `axis` is the answer, the `least` one, or for `yes_no`
    the probability of yes. Of a quantized model `made` is compared. `part`: only numbers from the
    first to before the second along the axis, the last one, are. `events`: the share of rows that
    count, if most have one class that says nothing, as the blanks between letters."""

    tensor: str
    made: str
    axis: int
    yes_no: bool = False
    part: tuple[int, int] | None = None
    least: bool = False
    events: float = 1.0

    def has_masks(self, shape: Sequence[int]) -> bool:
        """Whether each class has a mask, in a sample of this shape."""
        if self.yes_no:
            return False
        classes = shape[self.axis]
        return classes <= MOST_CLASSES and math.prod(shape) >= LEAST_ROWS * classes

    @property
    def axis_of_many(self) -> int:
        """The axis of several samples along a first one."""
        return self.axis if self.axis < 0 else self.axis + 1

    def logits(self, x: Array) -> Array:
        """What is compared along the axis, of one sample or several: the largest is the answer."""
        if self.least:
            return -x
        if self.part is not None:
            return x[..., slice(*self.part)]
        if not self.yes_no:
            return x
        yes = np.clip(x.astype(np.float64).ravel(), 1 - SUREST, SUREST)
        return np.stack([np.zeros_like(yes), np.log(yes) - np.log1p(-yes)], axis=-1)

    def rows(self, logits: Array, most: int) -> Array:
        """[rows, classes], every n-th of more than `most` rows; n is odd: of each line of an image
        others."""
        rows = np.moveaxis(logits, self.axis, -1).reshape(-1, logits.shape[self.axis])
        return rows[:: -(-len(rows) // most) | 1]


class Answers:
    """The classes that `graph`, a float graph as a Plan prepares it, tells apart on `kept`."""

    def __init__(
        self, graph: Graph, points: Sequence[EvaluationPoint], kept: Sequence[KeptSample]
    ) -> None:
        self.kept = kept
        made_by = graph.producers()
        softmaxes = {
            on_grid(n.input(0), made_by).name: n.output.name
            for n in graph.nodes
            if compares_classes(n)
        }
        axes = {p.tensor: p.axis for p in points if p.axis is not None}
        self.compared = [Compared(t, softmaxes.get(t, t), axis) for t, axis in axes.items()]
        plain = {p.tensor: p.number is None for p in points if p.tensor not in axes}
        self.compared += dict.fromkeys(_picked(graph, plain))
        known = {c.tensor for c in self.compared}
        rest = {name: whole for name, whole in plain.items() if name not in known}
        self.compared += _outputs(graph, rest, kept)
        self.compared = [_counting_events(c, kept) for c in self.compared]
        self.points = [EvaluationPoint(n) for c in self.compared for n in (c.tensor, c.made)]

    def rows(
        self, truth: Sequence[Mapping[str, Array]], got: Mapping[str, Array]
    ) -> NDArray[np.float64]:
        """[samples, FIGURES]: changed, tied and expected of what a model has `got` on samples, by
        tensor along a first axis, and the lead of the best class and the error of that, NaN if not
        one row is compared."""
        count = len(truth)
        figures, leads = np.zeros((count, 3)), np.full((count, 2), np.nan)
        each = [
            (c, np.stack([t[c.tensor] for t in truth]), got.get(c.made, got.get(c.tensor)))
            for c in self.compared
        ]
        if each:
            figures = np.mean([_rows(*of) for of in each], axis=0)
        if len(each) == 1 and (c := each[0][0]).tensor in got:
            leads = _leads(c, each[0][1], got[c.tensor])
        return np.concatenate([figures, leads], axis=1)

    def loss(self, rows: NDArray[np.float64]) -> AnswerLoss | None:
        """The mean of the `rows` of samples; None where no classes are compared."""
        if not self.compared or not len(rows):
            return None
        changed, tied, expected = (min(float(x), 1.0) for x in rows[:, :3].mean(axis=0))
        leads, errors = rows[:, 3], np.abs(rows[:, 4])
        chance = changed + tied
        if not np.isnan(leads + errors).any():  # as many errors are for the best class as against
            chance = float(np.mean(errors[:, None] >= leads)) / 2
        return AnswerLoss(changed, tied, expected, chance)


def _counting_events(of: Compared, kept: Sequence[KeptSample]) -> Compared:
    """`of` where most of several rows of a sample have one class, and no class has a mask."""
    found = [s.at_points[of.tensor] for s in kept if of.tensor in s.at_points]
    if not found or of.yes_no or of.has_masks(found[0].shape):
        return of
    rows = [of.rows(of.logits(x), SOME_ROWS).argmax(axis=1) for x in found]
    _, counts = np.unique(np.concatenate(rows), return_counts=True)
    events = 1.0 - float(counts.max() / counts.sum())
    several = len(rows[0]) > 1 and 0.0 < events < 0.5
    return replace(of, events=events) if several else of


def _picked(graph: Graph, tensors: Collection[str]) -> Iterator[Compared]:
    """Those of the `tensors` that an ArgMax or an ArgMin compares."""
    made_by = graph.producers()
    for node in graph.nodes:
        if is_a(node, ArgMax):
            name = on_grid(node.input(0), made_by).name
            if name in tensors:
                yield Compared(name, name, node.attrs["axis"], least=node.op != ARG_MAX.name)


def _outputs(
    graph: Graph, tensors: Mapping[str, bool], kept: Sequence[KeptSample]
) -> Iterator[Compared]:
    """The outputs among the `tensors` that look like logits, or like the probability of yes. One
    whose numbers are too unlike to be compared (False) only has parts that do.

    Logits are vectors, parts of one, or the channels of a larger output, that weights make, masked
    or not. Half of their numbers, or SEEN_OF_MANY, are the largest on some sample, they do not rise
    and fall together, and they are not the corners of a box. The probability of yes is a number
    that a sigmoid makes. The answers have come CERTAIN of the way from chance to certainty, on
    average.
    """
    made_by, masks = graph.producers(), masking(graph)
    outputs = list(dict.fromkeys(p.value for p in graph.outputs))
    for v in outputs:
        if v.name not in tensors or not kept:
            continue
        whole = _kind_of(v, made_by, masks) if tensors[v.name] else None
        for found in [whole] if whole is not None else _joined(v, made_by, masks):
            if _in_places(v, found, outputs):
                continue
            each = [found.rows(found.logits(s.at_points[v.name]), SOME_ROWS) for s in kept]
            if _are_answers(each, found.yes_no):
                yield found


def _are_answers(each: Sequence[Array], yes_no: bool) -> bool:
    """Whether the rows of samples look like logits, or like those of yes and no."""
    rows = np.concatenate(each)
    rows = np.where(rows > MASKED, rows, rows.min(initial=np.inf, where=rows > MASKED))
    together = rows.mean(axis=1).std() > TOGETHER * rows.std(axis=1).mean()
    if not yes_no and (together or _are_corners(rows)):
        return False
    count = rows.shape[1]
    seen = len(set(rows.argmax(axis=1).tolist()))
    certain = float(shares(rows.astype(np.float64), 1).max(axis=1).mean())
    part = YES_CERTAIN if yes_no else CERTAIN
    enough = part + (1 - part) / count if len(each[0]) == 1 else ROWS_CERTAIN
    varied = seen >= SEEN * min(count, len(rows)) or _are_of_many(rows, seen, len(each[0]))
    return varied and seen > 1 and certain >= enough


def _are_of_many(rows: Array, seen: int, of_sample: int) -> bool:
    """Whether rows, several of each sample, choose from more classes than samples can show."""
    if rows.shape[1] <= MOST_CLASSES or of_sample < 2 or seen < SEEN_OF_MANY:
        return False
    x = rows - rows.mean(axis=1, keepdims=True)
    return bool((x[:, 1:] * x[:, :-1]).sum() < UNLIKE * np.square(x).sum())


def _kind_of(v: Value, made_by: Mapping[Value, Node], masks: Collection[Node]) -> Compared | None:
    """What `v` is by the operator that makes it, one that `masks` logits, say."""
    count, node = v.type.size, maker_of(v, made_by)
    if node is None:
        return None
    if count == 1:
        yes_no = computes(node, *PROBABILITY)
        return Compared(v.name, v.name, -1, yes_no=True) if yes_no else None
    if not definition(node.op).heavy and not computes(node, *_LAST) and node not in masks:
        return None
    axis = v.shape.index(count) if count in v.shape else axis_behind(v, made_by)
    return None if axis is None or v.shape[axis] < 2 else Compared(v.name, v.name, axis)


def _joined(v: Value, made_by: Mapping[Value, Node], masks: Collection[Node]) -> list[Compared]:
    """The vectors that are joined to the vector `v` and may be logits, scaled or not."""
    node = made_by.get(v)
    if node is None or not is_a(node, Concat) or v.shape[-1] != v.type.size:
        return []
    found, first = list[Compared](), 0
    for x in node.dynamic_inputs:
        kind = _kind_of(_before_scale(x, made_by), made_by, masks)
        end = first + x.type.size
        if kind is not None and not kind.yes_no:
            found.append(Compared(v.name, v.name, -1, part=(first, end)))
        first = end
    return found if first == v.type.size else []


def _before_scale(v: Value, made_by: Mapping[Value, Node]) -> Value:
    """What is multiplied by a constant number to make `v`, if that is how it is made."""
    node = maker_of(v, made_by)
    if node is None or not computes(node, BinaryFn.Mul, BinaryFn.Div):
        return v
    constants = [x for x in node.inputs if x is not None and x.const is not None]
    single = len(node.dynamic_inputs) == 1 and all(x.type.size == 1 for x in constants)
    return node.dynamic_inputs[0] if single else v


def _are_corners(rows: Array) -> bool:
    """Whether rows of four numbers are two corners of a box, the smaller one first."""
    return rows.shape[1] == 4 and bool((rows[:, 2:] > rows[:, :2]).all())


def _in_places(v: Value, found: Compared, outputs: Sequence[Value]) -> bool:
    """Whether another output has other numbers for the same rows, as scores beside boxes."""
    rows = 1 if found.yes_no else v.type.size // v.shape[found.axis]
    sizes = (o.type.size for o in outputs)
    return rows > 1 and any(n != v.type.size and n % rows == 0 for n in sizes)


def _leads(of: Compared, real: Array, got: Array) -> NDArray[np.float64]:
    """[samples, 2]: by how much the best class leads the next, and the error of that; NaN of
    several rows."""
    logits = of.logits(real)
    count, size = len(logits), logits[0].size
    if size != logits.shape[of.axis_of_many] or size < 2:
        return np.full((count, 2), np.nan)
    flat = [x.reshape(count, size) for x in (logits, of.logits(got))]
    two = _best_two(flat[0])
    real, now = (np.take_along_axis(x, two, axis=1).astype(np.float64) for x in flat)
    off = now - real
    return np.stack([real[:, 0] - real[:, 1], off[:, 0] - off[:, 1]], axis=1)


def _best_two(x: Array) -> NDArray[np.intp]:
    """[rows, 2]: the places of the two largest numbers of each row; of equal ones the first."""
    first = x.argmax(axis=1)
    others = x.copy()
    np.put_along_axis(others, first[:, None], -np.inf, axis=1)
    second = others.argmax(axis=1)
    second = np.where(second == first, (first + 1) % x.shape[1], second)  # all others are -inf
    return np.stack([first, second], axis=1)


def _rows(of: Compared, real: Array, got: Array | None) -> NDArray[np.float64]:
    """[samples, 3]: changed, tied and expected; `got` is what the quantized model compares."""
    count = len(real)
    if got is None:
        return np.zeros((count, 3))
    axis, likely = of.axis_of_many, shares(of.logits(real), of.axis_of_many)
    found = of.logits(got).reshape(likely.shape)
    best, now = (np.expand_dims(a.argmax(axis=axis), axis) for a in (likely, found))
    same = best == now
    tied = (found == found.max(axis=axis, keepdims=True)).sum(axis=axis, keepdims=True) > 1
    lost = np.take_along_axis(likely, best, axis) - np.take_along_axis(likely, now, axis)
    figures = [x.reshape(count, -1).mean(axis=1) for x in (~same, tied & same, lost)]
    return np.stack(figures, axis=1) / of.events

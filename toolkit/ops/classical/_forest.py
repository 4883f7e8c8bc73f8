"""A forest as plain data: what trees ask of features, and what their leaves say."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...format.schema import TreeAggregate

LeafRow = tuple[tuple[int, float], ...]
"""(target, value) pairs that a leaf adds to the scores, in order."""

NEVER = -0x7F800001
"""A cut below the key of every float."""


class Question(NamedTuple):
    """What a split asks of a feature. `members` is empty: is the key at most `cut`? Else: is it one
    of `members`? A NaN goes to the low side if `nan_low`."""

    feature: int
    nan_low: bool
    cut: int
    members: tuple[int, ...] | None = None


@dataclass(frozen=True)
class Split:
    """A node: children of yes (low) and no (high), a node's index, or ~ that of a leaf."""

    question: Question
    low: int
    high: int


@dataclass(frozen=True)
class Tree:
    """Splits in any order; `root` is a split's index, or ~ that of a leaf."""

    splits: Sequence[Split]
    root: int


@dataclass(frozen=True, eq=False, repr=False)
class Forest:
    """Trees over rows of `features` floats, their scores aggregated for each of `targets`.

    Leaves are shared by all trees. `step` is 0 for leaf values that are floats, else what an
    integer leaf stands for, and `leaf_bits` its bits.
    """

    features: int
    targets: int
    trees: Sequence[Tree]
    leaves: Sequence[LeafRow]
    base: NDArray[np.float32]
    aggregate: TreeAggregate = TreeAggregate.Sum
    step: float = 0.0
    leaf_bits: int = 32

    def with_leaves(self, leaves: Sequence[LeafRow], step: float, bits: int) -> Forest:
        return replace(self, leaves=leaves, step=step, leaf_bits=bits)

    @property
    def split_count(self) -> int:
        return sum(len(t.splits) for t in self.trees)


def keys(values: NDArray[np.float32]) -> NDArray[np.int64]:
    """Integers in the order of the floats, 0 and -0 alike."""
    bits = np.ascontiguousarray(values, np.float32).view(np.int32).astype(np.int64)
    size = bits & 0x7FFFFFFF
    return np.where(bits < 0, -size, size)


def key_at_most(limit: float) -> int:
    """The key of the largest float32 that is not above `limit`, a double."""
    with np.errstate(over="ignore"):
        single = np.float32(limit)
    key = int(keys(np.array([single]))[0])
    return key - 1 if float(single) > limit else key


def question(
    mode: str, feature: int, limits: Iterable[float], nan_true: bool
) -> tuple[Question, bool]:
    """What a node of this ONNX mode asks, and whether yes is its false branch.

    NaN fails every comparison but BRANCH_NEQ, and goes the true way with `nan_true`.
    """
    values = [float(v) for v in limits]
    if mode in ("BRANCH_EQ", "BRANCH_NEQ", "BRANCH_MEMBER"):
        exact = {
            int(keys(np.array([v], np.float32))[0]) for v in values if float(np.float32(v)) == v
        }
        swapped = mode == "BRANCH_NEQ"
        return Question(feature, nan_true and not swapped, 0, tuple(sorted(exact))), swapped
    (limit,) = values
    swapped = mode in ("BRANCH_GT", "BRANCH_GTE")
    if np.isnan(limit):
        return Question(feature, nan_true, NEVER), False
    cut = key_at_most(limit)
    if mode in ("BRANCH_LT", "BRANCH_GTE") and float(np.float32(limit)) == limit:
        cut -= 1
    return Question(feature, nan_true != swapped, max(cut, NEVER)), swapped


def scores(forest: Forest, x: NDArray[np.float32]) -> NDArray[np.float64]:
    """The scores [rows, targets] of rows `x`, slowly: the meaning of a forest in plain numpy.

    Sums are of float32 in the order of the trees, or of integers.
    """
    found = np.zeros((len(x), forest.targets))
    for r, row in enumerate(x):
        sums: dict[int, float] = {}
        key, nan = keys(row), np.isnan(row)
        for tree in forest.trees:
            at = tree.root
            while at >= 0:
                split = tree.splits[at]
                at = split.low if _is_yes(split.question, key, nan) else split.high
            for target, value in forest.leaves[~at]:
                sums[target] = _aggregated(forest, sums[target], value) if target in sums else value
        for target in range(forest.targets):
            total = np.float32(sums.get(target, 0.0))
            total = total * np.float32(forest.step) if forest.step else total
            if forest.aggregate == TreeAggregate.Average:
                total = total / np.float32(len(forest.trees))
            found[r, target] = total + forest.base[target]
    return found


def _aggregated(forest: Forest, score: float, value: float) -> float:
    if forest.aggregate == TreeAggregate.Min:
        return min(score, value)
    if forest.aggregate == TreeAggregate.Max:
        return max(score, value)
    return score + value if forest.step else float(np.float32(score) + np.float32(value))


def _is_yes(q: Question, key: NDArray[np.int64], nan: NDArray[np.bool_]) -> bool:
    if nan[q.feature]:
        return q.nan_low
    if q.members is not None:
        return int(key[q.feature]) in q.members
    return bool(key[q.feature] <= q.cut)


def leaf_sqnr_db(forest: Forest, bits: int) -> float:
    """Variance of the scores over that of the rounding of leaves, as if trees and leaves were
    independent and every leaf of a tree alike; infinite if nothing is rounded."""
    signal = noise = 0.0
    step = _step(forest, bits)
    for tree in forest.trees:
        ends = [~c for s in tree.splits for c in (s.low, s.high) if c < 0]
        ends = ends or [~tree.root]
        by_target: dict[int, list[float]] = {}
        for target, value in (entry for i in ends for entry in forest.leaves[i]):
            by_target.setdefault(target, []).append(value)
        for values in by_target.values():
            spread = np.array([*values, *[0.0] * (len(ends) - len(values))])
            signal += float(spread.var())
            noise += float(((spread - np.rint(spread / step) * step) ** 2).mean())
    return 10 * float(np.log10(signal / noise)) if noise and signal else np.inf


def joined(first: Forest, second: Forest) -> Forest:
    """The forest whose scores are the sums of both's, of floats that both add up."""
    begin = len(first.leaves)
    moved = [
        Tree(
            [replace(s, low=_moved(s.low, begin), high=_moved(s.high, begin)) for s in t.splits],
            _moved(t.root, begin),
        )
        for t in second.trees
    ]
    return replace(
        first, trees=[*first.trees, *moved], leaves=[*first.leaves, *second.leaves],
        base=first.base + second.base, aggregate=TreeAggregate.Sum,
    )  # fmt: skip


def _moved(at: int, leaves: int) -> int:
    """A child, where there are so many leaves before its own."""
    return at if at >= 0 else ~(~at + leaves)


def _step(forest: Forest, bits: int) -> float:
    """What an integer leaf stands for."""
    most = max((abs(v) for row in forest.leaves for _, v in row), default=0.0)
    return float(np.float32(most / ((1 << (bits - 1)) - 1))) or 1.0


def quantized(forest: Forest, bits: int) -> Forest:
    """The forest with leaf values as integers of `bits`, in steps of the largest of them."""
    step, top = _step(forest, bits), (1 << (bits - 1)) - 1
    rows: list[LeafRow] = [
        tuple((t, float(np.clip(round(v / step), -top, top))) for t, v in row)
        for row in forest.leaves
    ]
    rows = [tuple((t, v) for t, v in row if v) if len(row) > 1 else row for row in rows]
    return forest.with_leaves(rows, step, bits)

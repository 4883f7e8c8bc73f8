"""Einsum, built of matrix products."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import prod
from string import ascii_letters

import numpy as np

from ...ir import Value
from .._broadcast import within_reach
from .._opdef import Builder, OnnxNode, Unsupported
from ._matmul import matmul


class Term:
    """A tensor whose axes have letters, each another."""

    def __init__(self, value: Value, letters: str) -> None:
        self.value, self.letters = value, letters

    @property
    def sizes(self) -> dict[str, int]:
        return dict(zip(self.letters, self.value.shape, strict=True))


def einsum(b: Builder, node: OnnxNode) -> Value:
    """ONNX Einsum-12, two terms at a time from the left: a sum of products of each pair is a
    matmul, or a product if nothing is summed. An axis of 1 broadcasts.
    """
    values = [v for v in node.inputs if v is not None]
    inputs, output = _letters(str(node.attrs["equation"]), values)
    values, inputs = map(list, zip(*map(partial(_diagonal, b), values, inputs), strict=True))
    terms = [_without_ones(b, Term(v, s)) for v, s in zip(values, inputs, strict=True)]
    sizes: dict[str, int] = {}
    for v, letters in zip(values, inputs, strict=True):
        for letter, size in zip(letters, v.shape, strict=True):
            if sizes.setdefault(letter, size) not in (1, size) and size != 1:
                raise Unsupported(f"axis {letter} has {sizes[letter]} and {size} elements")
            sizes[letter] = max(size, sizes[letter])
    done = terms[0]
    for i, term in enumerate(terms[1:], 2):
        done = _pair(b, done, term, output + "".join(t.letters for t in terms[i:]))
    done = _summed(b, done, output)
    missing = [c for c in output if c not in done.letters]
    if any(sizes[c] != 1 for c in missing):
        raise Unsupported(f"no input has axis {missing[0]}")
    kept = _ordered(b, done, [c for c in output if c in done.letters])
    return b.reshape(kept, [sizes[c] for c in output])


def _letters(equation: str, values: Sequence[Value]) -> tuple[list[str], str]:
    """The letters of each input's axes and of the output's; those of an ellipsis are new ones."""
    left, arrow, right = equation.replace(" ", "").partition("->")
    inputs = left.split(",")
    if len(inputs) != len(values):
        raise Unsupported(f"'{equation}' has not one term for each input")
    free = [c for c in ascii_letters if c not in equation]
    widths = [len(v.shape) - len(s.replace("...", "")) for v, s in zip(values, inputs, strict=True)]
    most = max((n for n, s in zip(widths, inputs, strict=True) if "..." in s), default=0)
    dots = "".join(free[:most])
    if not arrow:
        named = [c for c in sorted(set(left) - set(".,")) if left.count(c) == 1]
        right = "..." + "".join(named)
    found = [s.replace("...", dots[most - n :]) for n, s in zip(widths, inputs, strict=True)]
    right = right.replace("...", dots)
    if any(len(s) != len(v.shape) for s, v in zip(found, values, strict=True)):
        raise Unsupported(f"'{equation}' does not fit the ranks of its inputs")
    if len(set(right)) < len(right):
        raise Unsupported(f"'{equation}' has an axis twice in its output")
    return found, right


def _diagonal(b: Builder, x: Value, letters: str) -> tuple[Value, str]:
    """`x` with each letter once: of axes that share one, the elements whose indices are equal."""
    kept = "".join(dict.fromkeys(letters))
    if kept == letters:
        return x, letters
    for letter in kept:
        sizes = {d for c, d in zip(letters, x.shape, strict=True) if c == letter}
        if len(sizes) > 1:
            raise Unsupported(f"axis {letter} has {' and '.join(map(str, sorted(sizes)))} elements")
    place = np.zeros((), np.int64)
    shape = [x.shape[letters.index(c)] for c in kept]
    for i, c in enumerate(letters):
        at = np.arange(x.shape[i]) * prod(x.shape[i + 1 :])
        place = place + at.reshape([-1 if k == c else 1 for k in kept])
    flat = b.reshape(x, (x.type.size,))
    if flat.const is not None:
        return b.constant(flat.const[place]), kept
    y = b.emit("Gather", [flat, b.constant(place.ravel().astype(np.int32))], axis=0)
    return b.reshape(y, shape), kept


def _without_ones(b: Builder, term: Term) -> Term:
    kept = [c for c in term.letters if term.sizes[c] != 1]
    return Term(b.reshape(term.value, [term.sizes[c] for c in kept]), "".join(kept))


def _ordered(b: Builder, term: Term, letters: Sequence[str]) -> Value:
    return b.transpose(term.value, [term.letters.index(c) for c in letters])


def _summed(b: Builder, term: Term, wanted: str) -> Term:
    """The term summed over all letters that are not wanted."""
    gone = [c for c in term.letters if c not in wanted]
    if not gone:
        return term
    kept = [c for c in term.letters if c in wanted]
    x = _ordered(b, term, kept + gone)
    if x.const is not None:
        total = b.constant(x.const.sum(axis=tuple(range(len(kept), x.const.ndim))))
    else:
        axes = tuple(range(len(kept), len(x.shape)))
        total = b.emit("ReduceSum", [x], axes=axes, keepdims=False)
    return Term(total, "".join(kept))


def _pair(b: Builder, x: Term, y: Term, wanted: str) -> Term:
    """The product of two terms, summed over what neither the output nor another term has."""
    x, y = _summed(b, x, wanted + y.letters), _summed(b, y, wanted + x.letters)
    both = [c for c in x.letters if c in y.letters]
    summed, batch = [c for c in both if c not in wanted], [c for c in both if c in wanted]
    if x.value.const is not None and y.value.const is None and not batch:
        x, y = y, x  # weights come second
    rows, columns = ([c for c in t.letters if c not in both] for t in (x, y))
    sizes = {**x.sizes, **y.sizes}
    n, k, rest = ([sizes[c] for c in part] for part in (rows, summed, columns))
    lead = [sizes[c] for c in batch]
    left, right = _ordered(b, x, batch + rows + summed), _ordered(b, y, batch + summed + columns)
    letters = "".join(batch + rows + columns)
    if summed:
        left = b.reshape(left, (*lead, prod(n), prod(k)))
        right = b.reshape(right, (*lead, prod(k), prod(rest)))
        product = matmul(b, left, right)
    else:
        left = b.reshape(left, (*lead, *n, *(1 for _ in rest)))
        right = b.reshape(right, (*lead, *(1 for _ in n), *rest))
        product = b.emit("Mul", within_reach(b, [left, right]))
    return Term(b.reshape(product, (*lead, *n, *rest)), letters)

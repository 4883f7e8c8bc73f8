"""What a step of a loop computes, as a sum: matrix products, products of elements, a bias."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from ...format.schema import RecurrentFn

Real = NDArray[np.float64]

K = TypeVar("K")

MOST_TERMS = 16


class NoSum(Exception):  # noqa: N818 - a verdict, not a fault
    """It is not such a sum."""


@dataclass(frozen=True)
class Function:
    """A function of each element; a HardSigmoid is of slope 1 through 0."""

    fn: RecurrentFn
    of: Sum

    def columns(self, which: slice) -> Function:
        return Function(self.fn, self.of.columns(which))


@dataclass(frozen=True)
class Mask:
    """1 for samples whose states this step changes, 0 for others."""

    def columns(self, which: slice) -> Mask:
        return self


MASK = Mask()


@dataclass(frozen=True, eq=False)
class Sum:
    """A tensor [batch, n]. `products`: of what is multiplied (a name, or another sum [batch, k])
    with a matrix [k, n]. `terms`: coefficients [n] of products of elements. Equal are those of
    equal numbers."""

    products: Mapping[str | Sum, Real]
    terms: Mapping[tuple[Factor, ...], Real]
    bias: Real

    @staticmethod
    def of(name: str, size: int) -> Sum:
        return Sum({name: np.eye(size)}, {}, np.zeros(size))

    @staticmethod
    def constant(bias: Real) -> Sum:
        return Sum({}, {}, bias)

    @cached_property
    def key(self) -> str:
        parts = sorted(f"{_key(k)}*{_digest(v)}" for k, v in self.products.items())
        terms = sorted(
            f"{'.'.join(_key(f) for f in factors)}*{_digest(v)}"
            for factors, v in self.terms.items()
        )
        return sha256("|".join([*parts, "", *terms, "", _digest(self.bias)]).encode()).hexdigest()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sum) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)

    @property
    def size(self) -> int:
        return len(self.bias)

    def columns(self, which: slice) -> Sum:
        return Sum(
            {k: v[:, which] for k, v in self.products.items()},
            {_sorted(f.columns(which) for f in k): v[which] for k, v in self.terms.items()},
            self.bias[which],
        )

    def __add__(self, other: Sum) -> Sum:
        if self.size != other.size:
            raise NoSum
        products, terms = dict(self.products), dict(self.terms)
        for leaf, matrix in other.products.items():
            products[leaf] = products[leaf] + matrix if leaf in products else matrix
        for factors, c in other.terms.items():
            terms[factors] = terms[factors] + c if factors in terms else c
        return Sum(_not_zero(products), _not_zero(terms), self.bias + other.bias)

    def scaled(self, by: Real) -> Sum:
        return Sum(
            _not_zero({k: v * by for k, v in self.products.items()}),
            _not_zero({k: v * by for k, v in self.terms.items()}),
            self.bias * by,
        )

    def __mul__(self, other: Sum) -> Sum:
        """Element by element; what is a matrix product is a factor with its bias."""
        if self.size != other.size:
            raise NoSum
        total = Sum.constant(np.zeros(self.size))
        for mine, a in self._factored():
            for theirs, b in other._factored():
                total += _term(_sorted((*mine, *theirs)), a * b)
        if len(total.terms) > MOST_TERMS:
            raise NoSum
        return total

    def _factored(self) -> list[tuple[tuple[Factor, ...], Real]]:
        found = list(self.terms.items())
        scale = self._scale()
        if scale is not None:
            (leaf,) = self.products
            found.append(((Sum({leaf: np.eye(self.size)}, {}, self.bias),), scale))
        elif self.products:
            found.append(((Sum(self.products, {}, self.bias),), np.ones(self.size)))
        elif self.bias.any():
            found.append(((), self.bias))
        return found

    def _scale(self) -> Real | None:
        """Of each column, where the product is of columns by themselves."""
        if len(self.products) != 1 or self.bias.any():
            return None
        (matrix,) = self.products.values()
        scale = matrix.diagonal()
        square = matrix.shape == (self.size, self.size)
        return scale if square and np.array_equal(matrix, np.diag(scale)) else None

    def __matmul__(self, matrix: Real) -> Sum:
        products = {k: v @ matrix for k, v in self.products.items()}
        if self.terms:
            products[Sum({}, self.terms, np.zeros(self.size))] = matrix
        return Sum(products, {}, self.bias @ matrix)

    def applied(self, fn: RecurrentFn) -> Sum:
        zero, one = np.zeros(self.size), np.ones(self.size)
        return Sum({}, {(Function(fn, self),): one}, zero)

    def wide(self, size: int) -> Sum:
        """One number of each sample, a constant or a mask, as `size` equal ones."""
        if self.size == size:
            return self
        if self.size != 1 or self.products or self.terms.keys() - {(MASK,)}:
            raise NoSum
        terms = {k: np.repeat(v, size) for k, v in self.terms.items()}
        return Sum({}, terms, np.repeat(self.bias, size))

    @property
    def is_masked(self) -> bool:
        return any(MASK in k for k in self.terms)

    def unmasked(self, old: str) -> Sum:
        """What it is where the mask is 1, if it is `old` or 0 where the mask is 0."""
        before = Sum.of(old, self.size)
        if self.bias.any() or any(MASK not in k for k in self.terms):
            raise NoSum
        if self.products and self._plain() != before:
            raise NoSum
        new = self._plain()
        for factors, c in self.terms.items():
            rest = tuple(f for f in factors if f != MASK)
            if not rest:
                raise NoSum
            new += _term(rest, c)
        return new

    def _plain(self) -> Sum:
        """Without its terms."""
        return Sum(self.products, {}, self.bias)

    def names(self) -> set[str]:
        """Of all that it is made of."""
        found = set[str]()
        for part in (*self.products, *(f for k in self.terms for f in k)):
            if isinstance(part, str):
                found.add(part)
            elif not isinstance(part, Mask):
                found |= (part.of if isinstance(part, Function) else part).names()
        return found


Factor = Function | Sum | Mask


def _term(factors: tuple[Factor, ...], c: Real) -> Sum:
    """A product of elements, times c."""
    if not factors:
        return Sum.constant(c)
    first = factors[0]
    if len(factors) == 1 and isinstance(first, Sum):
        return first.scaled(c)
    return Sum({}, {factors: c}, np.zeros(len(c)))


def joined(parts: list[Sum]) -> Sum:
    """Side by side. Raises NoSum where they have terms."""
    if any(p.terms for p in parts):
        raise NoSum
    leaves = dict.fromkeys(leaf for p in parts for leaf in p.products)
    products = {}
    for leaf in leaves:
        rows = next(len(p.products[leaf]) for p in parts if leaf in p.products)
        blocks = [p.products.get(leaf, np.zeros((rows, p.size))) for p in parts]
        products[leaf] = np.hstack(blocks)
    return Sum(products, {}, np.concatenate([p.bias for p in parts]))


def _sorted(factors: Iterable[Factor]) -> tuple[Factor, ...]:
    return tuple(sorted(factors, key=_key))


def _not_zero(parts: Mapping[K, Real]) -> dict[K, Real]:
    return {k: v for k, v in parts.items() if v.any()}


def _key(part: str | Factor) -> str:
    if isinstance(part, Function):
        return f"{part.fn.name}({part.of.key})"
    if isinstance(part, Mask):
        return "mask"
    return part if isinstance(part, str) else part.key


def _digest(v: Real) -> str:
    numbers = np.ascontiguousarray(v) + 0.0  # -0 is 0
    return sha256(numbers.tobytes()).hexdigest()

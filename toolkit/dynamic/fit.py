"""Numbers of a model at several sizes -> the expression that they follow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement

import numpy as np
from numpy.typing import NDArray

from ..format.varying import Expression, Symbol

Numbers = tuple[int, ...]
"""One number at each sample."""

LARGEST_DIVISOR = 128
MOST_SIZES = 4096
"""Of a symbol, that expressions are told apart at."""

MOST_FACTORS = 24
"""Dimensions that products are looked for among."""


Ints = NDArray[np.int64]


@dataclass(frozen=True)
class _Found:
    """An expression of one symbol, and a size at which another one would do that differs there."""

    expression: Expression
    doubt: int | None


class Fits:
    """Expressions of numbers that were seen at `samples`, sizes of the symbols each.

    A dimension is a symbol, or k * floor((symbol + b) / c) + d, or that with a bound; other
    numbers are k times up to three dimensions, plus a constant or another such product. What is
    found gives the numbers at all samples.

    `doubts`: sizes (symbol, size) at which some dimension could be another number, if the samples
    were all that is known of it.
    """

    def __init__(self, samples: Sequence[Sequence[int]], symbols: Sequence[Symbol]) -> None:
        self.doubts: set[tuple[int, int]] = set()
        self._domains = [_domain(s) for s in symbols]
        self._columns = [tuple(column) for column in zip(*samples, strict=True)]
        self._dims: dict[Numbers, Expression] = {}
        self._known: dict[Numbers, Expression | None] = {}

    def dimension(self, numbers: Numbers) -> Expression | None:
        """The expression of a dimension; None if there is none. Products know it afterwards."""
        found = self._dims.get(numbers) or self._of_one_symbol(numbers)
        if found is not None:
            self._dims.setdefault(numbers, found)
        return found or self.number(numbers)

    def number(self, numbers: Numbers) -> Expression | None:
        """The expression of any number that is not negative."""
        if numbers not in self._known:
            self._known[numbers] = self._dims.get(numbers) or self._found(numbers)
        return self._known[numbers]

    def quotient(self, numbers: Numbers, by: Numbers) -> Expression | None:
        """The expression of numbers that are each a constant divided by one of `by`, which `number`
        has an expression of."""
        least = max(n * d for n, d in zip(numbers, by, strict=True))
        most = min((n + 1) * d - 1 for n, d in zip(numbers, by, strict=True))
        divisor = self.number(by)
        if divisor is None or least > most:
            return None
        return Expression.number(least).over(divisor)

    def _found(self, numbers: Numbers) -> Expression | None:
        product = self._product(numbers) or self._of_one_symbol(numbers)
        if product is not None:
            return product
        v = np.array(numbers, np.int64)
        for dim, expression in self._factors():
            for times in (1, _slope(v, dim)):
                rest = v - times * dim
                if times < 1:
                    continue
                if np.all(rest == rest[0]):
                    return expression.times(times).plus(int(rest[0]))
                other = self._product(tuple(rest.tolist())) if rest.min() > 0 else None
                if other is not None:
                    return expression.times(times).added(other)
        return None

    def _factors(self) -> list[tuple[Ints, Expression]]:
        simple = sorted(self._dims.items(), key=lambda item: len(item[1].terms))[:MOST_FACTORS]
        return [(np.array(numbers, np.int64), expression) for numbers, expression in simple]

    def _product(self, numbers: Numbers) -> Expression | None:
        """A constant times one, two or three dimensions."""
        v, factors = np.array(numbers, np.int64), self._factors()
        for count in (1, 2, 3):
            for chosen in combinations_with_replacement(factors, count):
                made = chosen[0][0]
                for dim, _ in chosen[1:]:
                    made = made * dim
                times = int(v[0] // made[0])
                if times < 1 or np.any(made * times != v):
                    continue
                found = chosen[0][1]
                for _, expression in chosen[1:]:
                    found = found.times(expression)
                return found.times(times)
        return None

    def _of_one_symbol(self, numbers: Numbers) -> Expression | None:
        v = np.array(numbers, np.int64)
        for i, column in enumerate(self._columns):
            x, symbol = np.array(column, np.int64), Expression.symbol(i)
            found = _floor_linear(x, v, symbol, self._domains[i])
            if found is not None:
                return self._trusted(i, found)
            for bound, limited in ((v.max(), Expression.at_most), (v.min(), Expression.at_least)):
                free = v != bound
                if free.sum() < 3:
                    continue
                part = _floor_linear(x[free], v[free], symbol, np.unique(x))
                if part is not None:
                    bounded = limited(part.expression, int(bound))
                    if all(bounded.value(at) == n for at, n in self._at(numbers)):
                        return bounded
        return None

    def _trusted(self, symbol: int, found: _Found) -> Expression:
        if found.doubt is not None:
            self.doubts.add((symbol, found.doubt))
        return found.expression

    def _at(self, numbers: Numbers) -> list[tuple[tuple[int, ...], int]]:
        return list(zip(zip(*self._columns, strict=True), numbers, strict=True))


def _domain(symbol: Symbol) -> Ints:
    sizes = symbol.sizes
    every = max(1, len(sizes) // MOST_SIZES)
    return np.array([*sizes[::every], symbol.highest], np.int64)


def _slope(v: Ints, x: Ints) -> int:
    low, high = int(x.argmin()), int(x.argmax())
    run = int(x[high] - x[low])
    return int((v[high] - v[low]) // run) if run else 0


def _floor_linear(x: Ints, v: Ints, symbol: Expression, domain: Ints) -> _Found | None:
    """k * floor((x + b) / c) + d: the plainest, and a size of `domain` at which others that fit
    `x` and `v` as well give another number."""
    low, high = int(x.argmin()), int(x.argmax())
    run, rise = int(x[high] - x[low]), int(v[high] - v[low])
    if not run or rise <= 0:
        return None
    fitting = []
    for c in range(1, LARGEST_DIVISOR + 1):
        near = rise * c // run
        for k in (near, near + 1, near - 1):
            if k < 1 or np.any((v - v[0]) % k):
                continue
            d = int(v[0] % k)
            begin = (v - d) // k * c - x
            least, most = int(begin.max()), int(begin.min()) + c - 1
            if least <= most:
                fitting += [(k, b, c, d) for b in {least, min(max(least, 0), most), most}]
    if not fitting:
        return None

    def plainness(one: tuple[int, int, int, int]) -> tuple[bool, bool, bool, int, int]:
        _, b, c, _ = one
        exact = b == 0 and not np.any(domain % c)
        return not exact, b < 0, bool(c & (c - 1)), c, abs(b)

    k, b, c, d = min(fitting, key=plainness)
    mine = k * ((domain + b) // c) + d
    others = (domain[k * ((domain + b) // c) + d != mine] for k, b, c, d in fitting)
    doubt = next((int(sizes[0]) for sizes in others if len(sizes)), None)
    return _Found(symbol.plus(b).divided(c).times(k).plus(d), doubt)

"""Numbers of a file that follow from sizes chosen when it runs, and the expressions that say how.

runtime_c/src/model/bind.c evaluates the same bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from .schema import Section, Term

_LIMIT = 1 << 31
_OPERATORS: dict[Term, Callable[[int, int], int]] = {
    Term.Add: lambda a, b: a + b,
    Term.Subtract: lambda a, b: a - b,
    Term.Multiply: lambda a, b: a * b,
    Term.Min: min,
    Term.Max: max,
    Term.Quotient: lambda a, b: a // b if b > 0 else -1,
}


@dataclass(frozen=True)
class Symbol:
    """A dimension whose size is chosen: lowest, lowest + step, ... up to highest."""

    name: str
    lowest: int
    highest: int
    step: int = 1

    @property
    def sizes(self) -> range:
        return range(self.lowest, self.highest + 1, self.step)

    def __str__(self) -> str:
        step = f":{self.step}" if self.step > 1 else ""
        return f"{self.name}={self.lowest}..{self.highest}{step}"


@dataclass(frozen=True)
class Expression:
    """Terms in postfix order, each with its number (0 for those that have none)."""

    terms: tuple[tuple[Term, int], ...]

    @staticmethod
    def number(value: int) -> Expression:
        """A constant; ValueError if it is negative: subtract its opposite."""
        if value < 0:
            raise ValueError("an expression has no negative numbers")
        return Expression(((Term.Number, value),))

    @staticmethod
    def symbol(index: int) -> Expression:
        return Expression(((Term.Symbol, index),))

    def _with(self, other: Expression, term: Term) -> Expression:
        return Expression((*self.terms, *other.terms, (term, 0)))

    def plus(self, value: int) -> Expression:
        """With a number of any sign added."""
        if not value:
            return self
        term = Term.Add if value > 0 else Term.Subtract
        return self._with(Expression.number(abs(value)), term)

    def times(self, other: int | Expression) -> Expression:
        if other == 1:
            return self
        if isinstance(other, int):
            other = Expression.number(other)
        return self._with(other, Term.Multiply)

    def added(self, other: Expression) -> Expression:
        return self._with(other, Term.Add)

    def divided(self, by: int) -> Expression:
        """The floor of it."""
        return self if by == 1 else Expression((*self.terms, (Term.Divide, by)))

    def over(self, by: Expression) -> Expression:
        """The floor of it divided by `by`; -1 where that is not positive."""
        return self._with(by, Term.Quotient)

    @property
    def may_grow(self) -> bool:
        """Whether it may be larger at smaller sizes."""
        return any(term == Term.Quotient for term, _ in self.terms)

    def at_most(self, value: int) -> Expression:
        return self._with(Expression.number(value), Term.Min)

    def at_least(self, value: int) -> Expression:
        return self._with(Expression.number(value), Term.Max)

    def value(self, sizes: Sequence[int]) -> int:
        """At these sizes of the symbols. ValueError where a value leaves int32."""
        stack: list[int] = []
        for term, number in self.terms:
            if term == Term.Number:
                stack.append(number)
            elif term == Term.Symbol:
                stack.append(sizes[number])
            elif term == Term.Divide:
                stack[-1] //= number
            else:
                b = stack.pop()
                stack[-1] = _OPERATORS[term](stack[-1], b)
            if not -_LIMIT <= stack[-1] < _LIMIT:
                raise ValueError(f"{self.text()} is {stack[-1]}, which leaves 32 bits")
        (found,) = stack
        return found

    def text(self, names: Sequence[str] = ()) -> str:
        """As people write it."""
        signs = {Term.Add: "+", Term.Subtract: "-", Term.Multiply: "*", Term.Quotient: "//"}
        stack: list[str] = []
        for term, number in self.terms:
            if term == Term.Number:
                stack.append(str(number))
            elif term == Term.Symbol:
                stack.append(names[number] if number < len(names) else f"s{number}")
            elif term == Term.Divide:
                stack.append(f"({stack.pop()} // {number})")
            else:
                b, a = stack.pop(), stack.pop()
                sign = signs.get(term)
                stack.append(f"({a} {sign} {b})" if sign else f"{term.name.lower()}({a}, {b})")
        return stack[-1].removeprefix("(").removesuffix(")") if len(self.terms) == 3 else stack[-1]

    def encoded(self) -> bytes:
        """With its End."""
        found = b""
        for term, number in self.terms:
            has_number = term in (Term.Number, Term.Symbol, Term.Divide)
            found += bytes([term]) + (varint(number) if has_number else b"")
        return found + bytes([Term.End])

    @staticmethod
    def decoded(data: bytes, at: int) -> Expression:
        """The one at byte `at`. Raises ValueError or IndexError when there is no sense in it."""
        terms: list[tuple[Term, int]] = []
        while (term := Term(data[at])) != Term.End:
            at, number = at + 1, 0
            if term in (Term.Number, Term.Symbol, Term.Divide):
                number, at = read_varint(data, at)
            terms.append((term, number))
        return Expression(tuple(terms))


class Varying(int):
    """A number at the largest sizes that follows from them; equal to one that does likewise."""

    expression: Expression

    def __new__(cls, value: int, expression: Expression) -> Varying:
        self = super().__new__(cls, value)
        self.expression = expression
        return self

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Varying)
            and int(self) == int(other)
            and self.expression == other.expression
        )

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash((int(self), self.expression))


@dataclass(frozen=True)
class Place:
    """Where a number of `expression` lies: as `Varying` of edge.fbs."""

    section: Section
    at: int
    expression: Expression


def expression_of(number: Any) -> Expression | None:
    """None of a number that is always the same."""
    return number.expression if isinstance(number, Varying) else None


WIDEST = 5
"""Bytes of a number that may become any of 32 bits."""


def varint(value: int, least: int = 1) -> bytes:
    """7 bits a byte, the lowest first; the highest bit says that more follow. `least` bytes."""
    out = bytearray()
    while value > 0x7F or len(out) + 1 < least:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


def read_varint(data: bytes, at: int) -> tuple[int, int]:
    """(the number at byte `at`, what follows it). IndexError beyond the end."""
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80 or shift > 28:
            return value & 0xFFFFFFFF, at


def stored(places: Iterable[Place]) -> tuple[bytes, list[tuple[int, int, int]]]:
    """The sections `expressions`, each once, and `varying` as (at, expression, section)."""
    data = b""
    at: dict[Expression, int] = {}
    records = []
    for place in places:
        if place.expression not in at:
            at[place.expression] = len(data)
            data += place.expression.encoded()
        records.append((place.at, at[place.expression], int(place.section)))
    return data, records

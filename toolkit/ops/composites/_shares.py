"""What neighbours contribute to a point between them."""

from __future__ import annotations

from .._formula import Term


def cubic_shares(t: Term, a: float) -> list[Term]:
    """The shares of four neighbours, the point lying t behind the second."""

    def near(u: Term) -> Term:
        return (u * (a + 2) - (a + 3)) * u * u + 1.0

    def far(u: Term) -> Term:
        return ((u * a - 5 * a) * u + 8 * a) * u - 4 * a

    return [far(t + 1.0), near(t), near(1.0 - t), far(2.0 - t)]

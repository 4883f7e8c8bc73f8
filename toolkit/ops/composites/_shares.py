"""What neighbours contribute to a point between them."""

from __future__ import annotations

from .._formula import Term


def cubic_near(u: Term, a: float) -> Term:
    """Keys's kernel with coefficient `a`, of distances up to 1."""
    return (u * (a + 2) - (a + 3)) * u * u + 1.0


def cubic_far(u: Term, a: float) -> Term:
    """The same, of distances from 1 to 2."""
    return ((u * a - 5 * a) * u + 8 * a) * u - 4 * a


def cubic_shares(t: Term, a: float) -> list[Term]:
    """The shares of four neighbours, the point lying t behind the second."""
    return [
        cubic_far(t + 1.0, a), cubic_near(t, a), cubic_near(1.0 - t, a), cubic_far(2.0 - t, a),
    ]  # fmt: skip

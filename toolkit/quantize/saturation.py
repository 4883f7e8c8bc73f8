"""The part of a range that the tables reading it can tell apart.

A hardswish of [-20, 6] is constant below -3: steps spent there are lost. When only tables read a
tensor, its range shrinks to where at least one of them varies.
"""

from __future__ import annotations

import numpy as np

from ..ir import Value
from .options import Range, Ranges
from .qparams import LEVELS, width
from .units import Unit

POINTS = 2049
TOLERANCE = 0.25
"""Of an output step: less is not seen after rounding, but near a tie."""


def narrowed(r: Range, v: Value, readers: list[Unit], outputs: set[Value], ranges: Ranges) -> Range:
    """The range `r` of `v` without the ends that no reader tells apart, if only tables read it."""
    if not readers or v in outputs or width(r) == 0:
        return r
    if any(u.chain is None or not u.integer for u in readers):
        return r
    low, high = r[1], r[0]
    x = np.linspace(r[0], r[1], POINTS)
    for u in readers:
        assert u.chain is not None and u.dtype is not None
        step = width(ranges[u.chain.end.name]) / LEVELS[u.dtype] * TOLERANCE
        y = u.chain(x)
        from_low = np.flatnonzero(~(np.abs(y - y[0]) <= step))
        from_high = np.flatnonzero(~(np.abs(y - y[-1]) <= step))
        if not len(from_low):
            continue
        low = min(low, float(x[max(from_low[0] - 1, 0)]))
        high = max(high, float(x[min(from_high[-1] + 1, POINTS - 1)]))
    return (low, high) if low < high else r

"""Whether a chain's table on int16, lines between 513 points, follows its function, whether a
divisor is fine enough, and what no integers are exact enough for.

A table does not where the function is steep or bends within 128 steps of the input: 1/x and log
near 0, or a function with steps.
"""

from __future__ import annotations

import numpy as np

from ...format.schema import BinaryFn, UnaryFn
from ...ir import Array, Graph, Node, QuantParams
from ...numerics import IN_INTEGERS, Precision
from ...ops import computes, is_a
from ...ops.convert.cast import Cast
from ...ops.elementwise.lut import table_errors
from .lookup_chains import LookupChain
from .moves import maker_of, since_weights
from .options import Ranges
from .qparams import activation_params

LIMIT = 2.0
"""In steps of int8 on the same range. At an end of the range lines miss by up to one, since no
point lies beyond; int8 itself, which also rounds the input, does no better there."""


LEAST_DIVISOR = 64
"""In its steps: half a step is less than a hundredth of it."""
_WHOLE = (UnaryFn.Sign, UnaryFn.Floor, UnaryFn.Ceil, UnaryFn.Round)
MOST_WHOLE = 1024
"""Of whole numbers that are made in float32: an image in float32 takes more memory than others, and
a step of its 256 does not matter."""


def whole_numbers(graph: Graph) -> dict[tuple[Node, Precision], str]:
    """The integers that do not compute, after the last weights, the floats that a Cast truncates,
    or whole numbers that Equal compares, up to MOST_WHOLE; and why. The step next to -1 may be
    -0.998, which a Cast makes 0."""
    made_by = graph.producers()
    read = [v for n in graph.nodes if is_a(n, Cast) for v in n.dynamic_inputs]
    for node in graph.nodes:
        if computes(node, BinaryFn.Equal):
            makers = ((v, maker_of(v, made_by)) for v in node.dynamic_inputs)
            read += [v for v, maker in makers if maker and computes(maker, *_WHOLE)]
    why = "whole numbers are made of it, which the steps of a scale would miss"
    few = [v for v in read if v.type.size <= MOST_WHOLE]
    return {(node, p): why for node in since_weights(few, made_by) for p in IN_INTEGERS}


class TableAccuracy:
    """Judges tables between the extremes `seen`; each once, as plans are emitted often."""

    def __init__(self, seen: Ranges) -> None:
        self.seen = seen
        self._known: dict[tuple[Node, QuantParams, QuantParams], str | None] = {}

    def problem(
        self, chain: LookupChain, table: Array, x: QuantParams, y: QuantParams
    ) -> str | None:
        """Why `table` will not do: it misses the function by whole steps of int8."""
        key = chain.nodes[-1], x, y
        if key not in self._known:
            self._known[key] = self._problem(chain, table, x, y)
        return self._known[key]

    def divisor_problem(self, node: Node, made: Node) -> str | None:
        """Why integers will not do for the quotient of two tensors: the divisor comes near 0."""
        if not computes(node, BinaryFn.Div) or made.input(1).quant is None:
            return None
        v, quant = node.input(1), made.input(1).quant
        low, high = (
            self.seen[v.name] if v.const is None else (float(v.const.min()), float(v.const.max()))
        )
        least = 0.0 if low <= 0 <= high else min(abs(low), abs(high))
        if quant is None or least >= LEAST_DIVISOR * quant.scalar:
            return None
        return f"its divisor is as small as {least:.4g} ({least / quant.scalar:.3g} steps)"

    def _problem(
        self, chain: LookupChain, table: Array, x: QuantParams, y: QuantParams
    ) -> str | None:
        low, high = self.seen[chain.root.name]
        found = [
            table_errors(f, points, x, y, low, high)
            for f, points in zip(chain.functions, np.atleast_2d(table), strict=True)
        ]
        q, errors = max(found, key=lambda f: f[1].max(initial=0.0))
        if not q.size:
            return None
        least, most = np.clip(self.seen[chain.end.name], y.qmin * y.scalar, y.qmax * y.scalar)
        int8 = activation_params(float(least), float(most)).scalar / y.scalar
        worst = int(np.argmax(errors))
        if errors[worst] <= LIMIT * int8:
            return None
        at = q[worst] * x.scalar
        return f"its int16 table is off by {errors[worst] / int8:.1f} steps of int8 at {at:.4g}"

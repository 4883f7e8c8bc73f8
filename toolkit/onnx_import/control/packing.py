"""Steps that change some samples only: those of a sample one behind the other, and back again."""

from __future__ import annotations

import numpy as np

from ...format.schema import ScatterFn
from ...ir import Value
from ...ops import FROM_ONNX
from ...ops._formula import Term
from ...ops._opdef import Builder, OnnxNode
from ...ops.move.scatter import scattered


class Packing:
    """Of a mask [steps, batch]: `lengths` says how many steps change a sample."""

    def __init__(self, b: Builder, mask: Value) -> None:
        self._b, (steps, batch) = b, mask.shape
        axis, whole = b.constant(np.array(0, np.int64)), Term(b, mask).to(np.int32).value
        self._mask = Term(b, whole)
        running = OnnxNode("CumSum", "", 14, "", [whole, axis], [""], {})
        self._counts = Term(b, FROM_ONNX["CumSum"].from_onnx(b, running)[0])
        total = self._counts.part(0, steps - 1)
        self.lengths = total.reshape(batch).value
        at = np.arange(steps, dtype=np.int32)[:, None]
        self._sample = np.arange(batch, dtype=np.int32)[None]
        behind = total + at - self._counts
        place = (Term(b, mask) > 0).where(self._counts - 1, behind) * batch + self._sample
        every = b.constant(np.arange(steps * batch, dtype=np.int32)[:, None])
        none = b.constant(np.zeros((steps * batch, 1), np.int32))
        order = scattered(b, none, place.reshape(steps * batch).value, every, 1, ScatterFn.Replace)
        self._order = Term(b, order).reshape(steps * batch)

    def packed(self, x: Value) -> Value:
        """The rows of x [steps, batch, ..] that count, in front of the others."""
        rows = Term(self._b, x).reshape(x.shape[0] * x.shape[1], *x.shape[2:])
        return rows.take(self._order).reshape(*x.shape).value

    def unpacked(self, y: Value, start: Value | None) -> Value:
        """What y [steps, batch, ..] has after each step, `start` before the first that counts; if
        there is none, 0 at all steps that do not count."""
        steps, batch, *rest = y.shape
        counts = self._counts if start is not None else self._counts * self._mask
        if start is None:
            start = self._b.constant(np.zeros((1, batch, *rest), np.float32))
        begin = self._b.reshape(start, (1, batch, *rest))
        table = Term(self._b, self._b.emit("Concat", [begin, y], axis=0))
        rows = table.reshape((steps + 1) * batch, *rest)
        at = (counts * batch + self._sample).reshape(steps * batch)
        return rows.take(at).reshape(*y.shape).value

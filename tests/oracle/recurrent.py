"""Recurrent layers, written from docs/arithmetic.md once more."""

import numpy as np

from .arithmetic import _q15, _table, _times, _to16, nearest, scale


def _step(row):
    return float(np.float32(np.abs(row).max() / np.float32(127.0)))


def _rounded(w, step, limit):
    return max(-limit, min(limit, nearest(w / step)))


def _narrow_step(row):
    """Of 4 bits: twentieths of the largest weight over 7 are tried, from the whole to half."""
    row = [float(w) for w in row]

    def error(step):
        return sum((_rounded(w, step, 7) * step - w) ** 2 for w in row)

    return min((n / 20 * (max(map(abs, row)) / 7) for n in range(20, 9, -1)), key=error)


class _Cell:
    """The numbers of a recurrent layer. Tables are the toolkit's."""

    def __init__(self, node, tables):
        self.attrs, self.tables = node.attrs, [[int(v) for v in t] for t in tables]
        real, bias = node.input(4).const, node.inputs[5]
        self.size = real.shape[1]
        offsets = [0.0] * len(real) if bias is None else [float(b) for b in bias.const]
        h = float(scale(node.output))
        limit, step = (7, _narrow_step) if "storage" in node.attrs else (127, _step)
        pairs = zip(real, offsets, strict=True)
        steps = [max(step(row), abs(b) / h / 2.0**30) for row, b in pairs]
        self.weights = [
            [_rounded(float(np.float32(w)), s, limit) for w in row]
            for row, s in zip(real, steps, strict=True)
        ]
        self.bias = [nearest(b / (s * h)) for b, s in zip(offsets, steps, strict=True)]
        rows = zip(self.weights, self.bias, steps, strict=True)
        unit = max((sum(map(abs, w)) * 32767 + abs(b)) * s for w, b, s in rows) * h / 32767
        self.ratios = [s * h / unit for s in steps]
        gates, x = node.attrs["gate_quant"].scalar, float(scale(node.input(0)))
        self.peepholes, self.cell = None, None
        if "cell_quant" in node.attrs:
            limit, whole = node.attrs["cell_limit"], node.attrs["cell_quant"].scalar
            self.cell = float(np.float32(min(whole, limit / 32767))) if limit else whole
        if node.inputs[6] is not None:
            real, c = node.input(6).const, self.cell
            gates = float(np.float32(gates + float(np.abs(real).max()) * c))
            self.peepholes = [
                self._peephole([float(w) for w in line], c / gates) for line in np.split(real, 3)
            ]
        for n in range(40, 0, -1):
            self.ma, self.mb = (nearest(v / gates * 2.0**n) for v in (x, unit))
            self.shift = n
            if self.ma + self.mb <= 1 << 23:
                break
        self.hidden_ratio = 2.0**-30 / h
        if "cell_quant" in node.attrs:
            self.t = 38
            while (m := nearest(2.0 ** (self.t - 30) / self.cell)) > 1 << 23:
                self.t -= 1
            self.m = m

    @staticmethod
    def _peephole(line, ratio):
        """Integers of a gate's weights, and the ratio of their products to the gate."""
        step = max(max(map(abs, line)) / 32767, 2.0**-39 / ratio)
        return [nearest(w / step) for w in line], step * ratio

    def peep(self, gate, which, c):
        if self.peepholes is None:
            return gate
        weights, ratio = self.peepholes[which]
        return [_to16(s + _times(w * v, ratio)) for s, w, v in zip(gate, weights, c, strict=True)]

    def products(self, h, rows):
        sums = (sum(w * v for w, v in zip(self.weights[i], h, strict=True)) for i in rows)
        biased = ((i, acc + self.bias[i]) for i, acc in zip(rows, sums, strict=True))
        return [_times(acc, self.ratios[i]) for i, acc in biased]

    def gates(self, x, r):
        half = 1 << (self.shift - 1)
        sums = (a * self.ma + b * self.mb + half for a, b in zip(x, r, strict=True))
        return [_to16(v >> self.shift) for v in sums]

    def step(self, x, h, c):
        n, (f, g, last) = self.size, self.tables
        if self.attrs["cell"] == 0:
            return [_table(f, v) for v in self.gates(x, self.products(h, range(n)))], c
        if self.attrs["cell"] == 1:
            zr = [_table(f, v) for v in self.gates(x[: 2 * n], self.products(h, range(2 * n)))]
            z, r = zr[:n], zr[n:]
            rows = range(2 * n, 3 * n)
            if self.attrs["reset_after"]:
                sums = [_q15(a * b) for a, b in zip(r, self.products(h, rows), strict=True)]
            else:
                sums = self.products([_q15(a * b) for a, b in zip(r, h, strict=True)], rows)
            new = [_table(g, v) for v in self.gates(x[2 * n :], sums)]
            mixed = zip(z, new, h, strict=True)
            return [_q15(((1 << 15) - a) * b + a * old) for a, b, old in mixed], c
        s = self.gates(x, self.products(h, range(4 * n)))
        i = [_table(f, v) for v in self.peep(s[:n], 0, c)]
        forget = [_table(f, v) for v in self.peep(s[2 * n : 3 * n], 2, c)]
        if self.attrs["coupled"]:
            forget = [_to16((1 << 15) - v) for v in i]
        new = [_table(g, v) for v in s[3 * n :]]
        parts = zip(forget, c, i, new, strict=True)
        sums = [a * b * 2 ** (self.t - 15) + d * e * self.m for a, b, d, e in parts]
        c = [_to16((v + (1 << (self.t - 1))) >> self.t) for v in sums]
        o = [_table(f, v) for v in self.peep(s[n : 2 * n], 1, c)]
        outs = zip(o, c, strict=True)
        return [_times(a * _table(last, v), self.hidden_ratio) for a, v in outs], c


def recurrent(node, x, tables):
    """The hidden state of all steps, from states of 0."""
    cell, (steps, batch, _) = _Cell(node, tables), x.shape
    found = np.zeros((steps, batch, cell.size), np.int64)
    for b in range(batch):
        h, c = [0] * cell.size, [0] * cell.size
        for t in range(steps)[:: -1 if node.attrs["reverse"] else 1]:
            h, c = cell.step([int(v) for v in x[t, b]], h, c)
            found[t, b] = h
    return found

"""docs/arithmetic.md in whole numbers and fractions, written from that page alone.

It shares nothing with toolkit/ops or the runtime, so an error that both have shows here.
"""

import math
from fractions import Fraction
from itertools import product

import numpy as np


def half_up(x):
    return math.floor(Fraction(x) + Fraction(1, 2))


def nearest(x):
    """Half to even, as Python rounds."""
    return round(Fraction(x))


def clamped(value, quant, attrs):
    """`value` in the limits of the quantization and of a fused activation."""
    limits = []
    for name, otherwise in (("act_min", quant.qmin), ("act_max", quant.qmax)):
        real = attrs.get(name, math.inf)
        q = otherwise if math.isinf(real) else nearest(real / quant.scalar) + quant.zero_point
        limits.append(min(max(q, quant.qmin), quant.qmax))
    return min(max(value, limits[0]), limits[1])


def split(ratio, bits):
    """(m, e) with ratio = m * 2^(e - bits), m of `bits` bits."""
    e = 0
    while ratio * Fraction(2) ** -e >= 1:
        e += 1
    while ratio * Fraction(2) ** -e < Fraction(1, 2):
        e -= 1
    m = nearest(ratio * Fraction(2) ** (bits - e))
    return (m // 2, e + 1) if m == 1 << bits else (m, e)


def requantized(acc, ratio, quant, attrs):
    """An accumulator times a ratio of scales, in the arithmetic of the output's type."""
    if quant.dtype == np.int16:
        m, e = split(ratio, 23)
        return clamped(half_up(Fraction(acc * m, 1 << (23 - e))), quant, attrs)
    m, shift = split(ratio, 31)
    if -12 <= shift < 0:
        m, shift = nearest(Fraction(ratio) * (1 << 31)), 0
    h = half_up(Fraction((acc << max(shift, 0)) * m, 1 << 31))
    r = half_up(Fraction(h, 1 << max(-shift, 0)))
    return clamped(r + quant.zero_point, quant, attrs)


def scale(v, i=0):
    """Of a value, or of the i-th channel of weights."""
    s = v.quant.scale
    return Fraction(float(s[i] if len(s) > 1 else s[0]))


def every(shape):
    return product(*map(range, shape))


def conv2d(node, x):
    v, w, b = node.inputs
    y, a = node.output, node.attrs
    per_group, out = w.shape[3], np.empty(y.shape, np.int64)
    for n, oy, ox, o in every(y.shape):
        acc, first = int(b.const[o]), o // (w.shape[0] // a["groups"]) * per_group
        for i, j, c in every(w.shape[1:]):
            iy = oy * a["stride"][0] - a["pads"][0] + i * a["dilation"][0]
            ix = ox * a["stride"][1] - a["pads"][1] + j * a["dilation"][1]
            if 0 <= iy < v.shape[1] and 0 <= ix < v.shape[2]:
                q = int(x[n, iy, ix, first + c])
                acc += int(w.const[o, i, j, c]) * (q - v.quant.zero_point)
        out[n, oy, ox, o] = requantized(acc, scale(v) * scale(w, o) / scale(y), y.quant, a)
    return out


def fully_connected(node, x):
    v, w, b = node.inputs
    y, out = node.output, np.empty(node.output.shape, np.int64)
    for at in every(y.shape):
        row, o = x[at[:-1]], at[-1]
        products = zip(w.const[o], row, strict=True)
        acc = int(b.const[o]) + sum(int(p) * (int(q) - v.quant.zero_point) for p, q in products)
        out[at] = requantized(acc, scale(v) * scale(w, o) / scale(y), y.quant, node.attrs)
    return out


def pairs(a, b):
    """The elements of two arrays side by side, as they broadcast."""
    both = np.broadcast_arrays(a, b)
    return zip(*(array.ravel().tolist() for array in both), strict=True)


def add(node, a, b):
    (va, vb), y = node.inputs, node.output
    wide, sign = y.quant.dtype == np.int16, -1 if node.op == "Sub" else 1
    za, zb, zy = va.quant.zero_point, vb.quant.zero_point, y.quant.zero_point
    for s in range(40 if wide else 30, -1, -1):
        ma = nearest(scale(va) / scale(y) * 2**s)
        mb = sign * nearest(scale(vb) / scale(y) * 2**s)
        half = 1 << (s - 1) if s else 0
        c = half if wide else (zy << s) - za * ma - zb * mb + half
        reach = max(abs(p * ma + q * mb + c) for p in (-128, 127) for q in (-128, 127))
        if abs(ma) + abs(mb) <= 1 << (23 if wide else 22) and (wide or reach < 1 << 31):
            break
    sums = [(p * ma + q * mb + c) >> s for p, q in pairs(a, b)]
    return np.array([clamped(q, y.quant, node.attrs) for q in sums]).reshape(y.shape)


def mul(node, a, b):
    (va, vb), y = node.inputs, node.output
    ratio = scale(va) * scale(vb) / scale(y)
    za, zb = va.quant.zero_point, vb.quant.zero_point
    found = [requantized((p - za) * (q - zb), ratio, y.quant, node.attrs) for p, q in pairs(a, b)]
    return np.array(found).reshape(y.shape)


def mean(elements, divisor, v, y):
    """Of elements of `v`, in the quantization of `y`."""
    finer = 1 if y.quant.dtype == np.int16 else 16
    acc = finer * sum(int(q) - v.quant.zero_point for q in elements)
    return requantized(acc, scale(v) / (finer * scale(y) * divisor), y.quant, {})


def pool(node, x):
    v, y, a = node.input(0), node.output, node.attrs
    out = np.empty(y.shape, np.int64)
    for n, oy, ox, c in every(y.shape):
        rows = [oy * a["stride"][0] - a["pads"][0] + i for i in range(a["kernel"][0])]
        columns = [ox * a["stride"][1] - a["pads"][1] + j for j in range(a["kernel"][1])]
        inside = [
            x[n, i, j, c]
            for i, j in product(rows, columns)
            if 0 <= i < v.shape[1] and 0 <= j < v.shape[2]
        ]
        if node.op == "MaxPool2d":
            out[n, oy, ox, c] = max(inside)
        else:
            whole = len(rows) * len(columns)
            out[n, oy, ox, c] = mean(inside, whole if a["count_include_pad"] else len(inside), v, y)
    return out


def div(node, a):
    """By a constant tensor without zeros."""
    (va, vb), y = node.inputs, node.output
    ratio, found = scale(va) / (scale(vb) * scale(y)), []
    bits, most = (16, 15) if y.quant.dtype == np.int16 else (22, 22)
    f = max(f for f in range(most + 1) if nearest(ratio * 2**f) < 1 << bits)
    for over, by in pairs(a - va.quant.zero_point, vb.const - np.int64(vb.quant.zero_point)):
        size = half_up(Fraction(abs(over) * nearest(ratio * 2**f), abs(by) << f))
        found.append(clamped((size if over * by > 0 else -size) + y.quant.zero_point, y.quant, {}))
    return np.array(found).reshape(y.shape)


def reduce_mean(node, x):
    v, y, axes = node.input(0), node.output, tuple(node.attrs["axes"])
    moved = np.moveaxis(x, axes, range(-len(axes), 0))
    lines = moved.reshape(-1, math.prod(v.shape[i] for i in axes))
    return np.array([mean(line, len(line), v, y) for line in lines]).reshape(y.shape)


def softmax(node, x):
    v, axis = node.input(0), node.attrs["axis"]
    moved = np.moveaxis(x, axis, -1)
    wide, n, s = v.quant.dtype == np.int16, moved.shape[-1], float(scale(v))
    p = max(p for p in range(17 if wide else 24) if n << p < 1 << (32 if wide else 31))
    out = np.empty(moved.shape, np.int64)
    for at in every(moved.shape[:-1]):
        ds = [int(moved[at].max()) - int(q) for q in moved[at]]
        if wide:
            high = [nearest(2**p * math.exp(-s * 256 * (d >> 8))) for d in ds]
            low = [nearest(2**15 * math.exp(-s * (d & 255))) for d in ds]
            e = [(h * part + (1 << 14)) >> 15 for h, part in zip(high, low, strict=True)]
            out[at] = [min(((q << 15) + sum(e) // 2) // sum(e), 32767) for q in e]
        else:
            e = [nearest(2**p * math.exp(-s * d)) for d in ds]
            out[at] = [min((q * 256 + sum(e) // 2) // sum(e), 255) - 128 for q in e]
    return np.moveaxis(out, -1, axis)


def layer_norm(node, x):
    """Along the last axis, with a scale and a bias for each of its elements."""
    v, y = node.input(0), node.output
    scales, biases = (node.input(i).const.astype(float).ravel() for i in (1, 2))
    n, sy, zy = v.shape[-1], scale(y), y.quant.zero_point
    reach = 32768 if v.quant.dtype == np.int16 else 255
    exact = Fraction(node.attrs["epsilon"]) * (n / scale(v)) ** 2
    k = max(
        k for k in range(0, 47, 2) if (n * reach) ** 2 << k <= 1 << 62 and exact * 2**k < 1 << 62
    )
    epsilon, f = half_up(exact * 2**k), 28 - math.ceil(math.log2(n) / 2)
    ratios = [Fraction(g) / sy for g in scales]
    offsets = [Fraction(b) / sy + zy for b in biases]
    s = max(
        s
        for s in range(12, 61)
        if max(abs(nearest(r * Fraction(2) ** (s - f))) for r in ratios) <= 1 << 30
        and (max(map(abs, offsets)) + 1) * 2**s <= 1 << 60
    )
    out = np.empty(y.shape, np.int64)
    for at in every(v.shape[:-1]):
        c = [int(q) - v.quant.zero_point for q in x[at]]
        total = sum(c) if node.attrs["centered"] else 0
        variance = n * sum(q * q for q in c) - total * total
        radicand = (variance << k) + epsilon
        e, m = 0, radicand
        while m >= 1 << 30:
            e, m = e + 1, radicand >> 2 * (e + 1)
        while m < 1 << 28:
            e, m = e - 1, radicand << -2 * (e - 1)
        g = min(math.isqrt((1 << 60) // m), (1 << 16) - 1)
        r = (g << 14) + ((g * (((1 << 60) - g * g * m) >> 15)) >> 32)
        j = 44 + e - k // 2 - f
        for i, q in enumerate(c):
            t = ((n * q - total) * r + (1 << (j - 1))) >> j if variance else 0
            acc = t * nearest(ratios[i] * Fraction(2) ** (s - f))
            acc += (nearest(offsets[i] * 2**12) << (s - 12)) + (1 << (s - 1))
            out[(*at, i)] = clamped(acc >> s, y.quant, node.attrs)
    return out


def requantize(node, x):
    v, y = node.input(0), node.output
    m, e = split(scale(v) / scale(y), 23)
    found = [
        half_up(Fraction((int(q) - v.quant.zero_point) * m, 1 << (23 - e))) + y.quant.zero_point
        for q in x.ravel()
    ]
    return np.array([clamped(q, y.quant, {}) for q in found]).reshape(y.shape)


def top_k(node, x):
    lines = np.moveaxis(x, node.attrs["axis"], -1)
    values = np.zeros((*lines.shape[:-1], node.attrs["k"]), np.int64)
    indices = np.zeros_like(values)
    sign = 1 if node.attrs["smallest"] else -1
    for at in every(lines.shape[:-1]):
        left = list(enumerate(lines[at].tolist()))
        for i in range(node.attrs["k"]):
            first = min(left, key=lambda pair: (sign * pair[1], pair[0]))
            left.remove(first)
            indices[(*at, i)], values[(*at, i)] = first
    return tuple(np.moveaxis(v, -1, node.attrs["axis"]) for v in (values, indices))


def scatter(node, x, places, rows):
    y = [list(row) for row in x.reshape(len(x), -1)]
    for place, row in zip(places.ravel().tolist(), rows.reshape(places.size, -1), strict=True):
        y[place] = list(row)
    return np.array(y).reshape(x.shape)


def table(node, x):
    """The runtime's part of a unary function; what is in the table is the toolkit's."""
    t = node.input(1).const.astype(np.int64)
    if len(t) == 256:
        return t[x + 128]
    u = x + 32768
    i, f = u >> 7, u & 127
    return t[i] + (((t[i + 1] - t[i]) * f + 64) >> 7)


def _table(t, s):
    u = s + 32768
    return t[u >> 7] + (((t[(u >> 7) + 1] - t[u >> 7]) * (u & 127) + 64) >> 7)


def _to16(v):
    return max(-32767, min(32767, v))


def _q15(v):
    return _to16((v + (1 << 14)) >> 15)


def _times(v, ratio):
    m, e = split(Fraction(ratio), 23)
    return _to16(half_up(Fraction(v * m, 1 << (23 - e))))


OPERATORS = {
    "Conv2d": conv2d,
    "FullyConnected": fully_connected,
    "Add": add,
    "Sub": add,
    "Mul": mul,
    "Div": div,
    "AvgPool2d": pool,
    "MaxPool2d": pool,
    "ReduceMean": reduce_mean,
    "Softmax": softmax,
    "LayerNorm": layer_norm,
    "Requantize": requantize,
    "Lut": table,
    "TopK": top_k,
    "Scatter": scatter,
    "Reshape": lambda node, x: x.reshape(node.output.shape),
    "Transpose": lambda node, x: x.transpose(node.attrs["perm"]),
    "Concat": lambda node, *xs: np.concatenate(xs, node.attrs["axis"]),
}


def run(graph, feed):
    """Name -> q of each output of an integer graph, in int64."""
    values = {p.value: feed[p.name].astype(np.int64) for p in graph.inputs}
    for node in graph.nodes:
        given = [values[v] for v in node.inputs if v in values]
        made = OPERATORS[node.op](node, *given)
        values |= zip(node.outputs, made if isinstance(made, tuple) else (made,), strict=True)
    return {p.name: values[p.value].reshape(p.shape) for p in graph.outputs}

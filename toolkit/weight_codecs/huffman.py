"""Weights in a canonical Huffman code of at most 63 symbols and an escape, in blocks of channels.

Codes are at most 8 bits long (package-merge: Larmore and Hirschberg 1990, doi:10.1145/79147.79150),
so that a table of 256 entries decodes them. runtime_c/src/weights/huffman.c has the layout.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ._codec import Encoded, Storage

LONGEST, SYMBOLS = 8, 63
BLOCK = 1024
"""Weights of a block of channels, about."""
BLOCK_OF_TAPS = 288
"""Those of depthwise convolutions, which are decoded block by block: they are wide once packed."""
RARE = (0, 1, 2, 4, 8, 16, 32)
"""Symbols that occur no more often are behind the escape: each is tried."""

Ints = NDArray[np.int64]


class Huffman:
    """Any int8 weights; the fewer and the less even their values, the fewer bytes."""

    def encode(self, w: NDArray[np.int8], storage: Storage, depthwise: bool) -> Encoded:
        group = storage.group or default_group(w.shape[1], depthwise=depthwise)
        low, lengths = _best_code(w)
        codes = _codes(lengths)
        at = w.astype(np.int64) - low
        known = (at >= 0) & (at < len(lengths) - 1)
        at = np.where(known, at, len(lengths) - 1)
        at[lengths[at] == 0] = len(lengths) - 1
        escaped = at == len(lengths) - 1
        value = np.where(escaped, codes[at] << 8 | w.view(np.uint8), codes[at])
        bits = lengths[at] + 8 * escaped
        parts = [
            _bytes(
                _in_order(value[i : i + group], depthwise),
                _in_order(bits[i : i + group], depthwise),
            )
            for i in range(0, len(w), group)
        ]
        if max(len(part) for part in parts) > 0xFFFF:
            raise ValueError(f"{group} channels of {w.shape[1]} weights do not fit a block")
        head = np.array([low & 255, len(lengths) - 1, lengths[-1]], np.uint8)
        pairs = np.append(lengths[:-1], np.zeros(len(lengths[:-1]) % 2, np.int64)).reshape(-1, 2)
        sizes = np.array([len(part) for part in parts], "<u2").view(np.uint8)
        nibbles = (pairs[:, 0] | pairs[:, 1] << 4).astype(np.uint8)
        return Encoded(np.concatenate(parts), np.concatenate([head, nibbles, sizes]), group)

    def decode(
        self,
        blob: bytes,
        weights: int,
        auxiliary: int,
        group: int,
        shape: tuple[int, int],
        depthwise: bool,
    ) -> NDArray[np.int8]:
        n, k = shape
        low, many, escape = np.frombuffer(blob, np.uint8, 3, auxiliary)
        packed = np.frombuffer(blob, np.uint8, -(-int(many) // 2), auxiliary + 3)
        lengths = np.stack([packed & 15, packed >> 4], -1).ravel()[:many].astype(np.int64)
        lengths = np.append(lengths, int(escape))
        table = _table(lengths)
        sizes = np.frombuffer(blob, "<u2", -(-n // group), auxiliary + 3 + len(packed))
        out, at = np.empty((n, k), np.int8), weights
        for i, size in enumerate(map(int, sizes)):
            block = out[i * group : (i + 1) * group]
            flat = _decoded(blob[at : at + size], table, lengths, int(low), block.size)
            block[:] = flat.reshape(block.shape, order="F" if depthwise else "C")
            at += size
        return out


def code_bits(w: NDArray[np.int8]) -> NDArray[np.float64]:
    """What each of -127 to 127 would take in the code of weights `w`, in bits."""
    low, lengths = _best_code(w)
    escape = int(lengths[-1]) if lengths[-1] else LONGEST
    bits = np.full(255, escape + 8.0)
    at = np.flatnonzero(lengths[:-1])
    inside = (at + low >= -127) & (at + low <= 127)
    bits[at[inside] + low + 127] = lengths[at[inside]]
    return bits


def default_group(count: int, least: int = 4, *, depthwise: bool = False) -> int:
    """Channels of `count` weights in a block: a multiple of 4, as kernels have them decoded."""
    return max(least, (BLOCK_OF_TAPS if depthwise else BLOCK) // count // 4 * 4)


def _in_order(block: Ints, depthwise: bool) -> Ints:
    """Those of a block, [channels, k], as they follow one another."""
    return (block.T if depthwise else block).ravel()


def _best_code(w: NDArray[np.int8]) -> tuple[int, Ints]:
    """The first symbol and the lengths of the code, the escape's last, with the fewest bits."""
    counts = np.bincount(w.ravel().view(np.uint8) ^ 128, minlength=256)
    sums = np.convolve(counts, np.ones(SYMBOLS, np.int64))[SYMBOLS - 1 : 256]
    first = int(np.argmax(sums))
    found: tuple[int, int, Ints] | None = None
    for rare in RARE:
        inside = np.where(counts > rare, counts, 0)[first : first + SYMBOLS]
        used = np.flatnonzero(inside)
        if not len(used):
            continue
        inside = inside[used[0] : used[-1] + 1]
        outside = int(counts.sum() - inside.sum())
        lengths = _lengths(np.append(inside, outside), len(inside))
        bits = int((lengths[:-1] * inside).sum()) + outside * (int(lengths[-1]) + 8)
        cost = bits + 4 * len(lengths)
        if found is None or cost < found[0]:
            found = cost, first + int(used[0]) - 128, lengths
    if found is None:  # all are rare: one symbol, all others behind the escape
        return int(w.flat[0]), np.array([1, 1])
    return found[1:]


def _lengths(counts: Ints, escape: int) -> Ints:
    """Of a code for symbols that occur so often, 0 for none; at least two have one."""
    lengths = np.zeros(len(counts), np.int64)
    used = np.flatnonzero(counts)
    if len(used) == 1:
        used = np.unique([*used, escape])
    leaves: list[tuple[int, tuple[int, ...]]] = sorted((int(counts[s]), (int(s),)) for s in used)
    row = list(leaves)
    for _ in range(LONGEST - 1):
        pairs = zip(row[::2], row[1::2], strict=False)
        row = sorted([*leaves, *((a[0] + b[0], a[1] + b[1]) for a, b in pairs)])
    for _, symbols in row[: 2 * len(leaves) - 2]:
        np.add.at(lengths, list(symbols), 1)
    return lengths


def _codes(lengths: Ints) -> Ints:
    """The codes, by length and then by symbol."""
    codes, code, before = np.zeros_like(lengths), 0, 0
    for s in sorted(np.flatnonzero(lengths), key=lambda s: (lengths[s], s)):
        code <<= int(lengths[s]) - before
        codes[s], before = code, int(lengths[s])
        code += 1
    return codes


def _table(lengths: Ints) -> list[int]:
    """The symbol that each byte begins with."""
    order = sorted(np.flatnonzero(lengths), key=lambda s: (lengths[s], s))
    return [int(s) for s in order for _ in range(256 >> int(lengths[s]))]


def _bytes(values: Ints, bits: Ints) -> NDArray[np.uint8]:
    """The lowest `bits` of each value, the highest first, behind one another."""
    ends = np.cumsum(bits)
    which = np.repeat(np.arange(len(bits)), bits)
    back = ends[which] - np.arange(len(which)) - 1
    return np.packbits((values[which] >> back & 1).astype(np.uint8))


def _decoded(data: bytes, table: list[int], lengths: Ints, low: int, many: int) -> NDArray[np.int8]:
    """The weights of a block; zeros follow its end."""
    value, at = int.from_bytes(data + bytes(2), "big"), 8 * len(data) + 16
    out = bytearray()
    sizes, escape = lengths.tolist(), len(lengths) - 1
    for _ in range(many):
        symbol = table[value >> (at - 8) & 255 if at >= 8 else 0]
        at -= sizes[symbol]
        if symbol == escape:
            at -= 8
            out.append((value >> at if at >= 0 else value << -at) & 255)
        else:
            out.append((low + symbol) & 255)
    return np.frombuffer(bytes(out), np.int8)

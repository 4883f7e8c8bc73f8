"""An operator as the accelerator runs it: its loops, from which follow fit and cycles.

The same arithmetic as targets/fpga_opencl/host/layer.c, which has the last word when a file runs.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ..format.model import ABSENT, EdgeModel, OpRecord
from ..format.schema import DType, OpKind, Place
from .config import Config

_LIMIT = 1 << 30


@dataclass(frozen=True)
class Layer:
    """How often the loops of each stage turn, per tile of `lanes` channels.

    A turn is a word read, a cycle of the window and of the multipliers, a sum requantized, a cycle
    of pooling, a pixel written. `weight_words` and `macs` are of all tiles.
    """

    tiles: int
    read_words: int
    window_cycles: int
    mac_cycles: int
    weight_words: int
    sums: int
    pool_cycles: int
    written: int
    macs: int


def _ceil(a: int, b: int) -> int:
    return -(-a // b)


def layer_of(model: EdgeModel, op: OpRecord, config: Config) -> Layer | str:
    """The loops of `op`, or in words why the accelerator cannot run it."""
    make = _KINDS.get(op.kind)
    if make is None or model.element(op) != DType.Int8 or op.is_coded:
        return "the accelerator has no such operator"
    for i in (*op.inputs, *op.outputs):
        if i == ABSENT or model.tensors[i].place != Place.Arena:
            return "its operands are not all in the arena"
    return make(model, op, config)


def _conv(model: EdgeModel, op: OpRecord, config: Config) -> Layer | str:
    p = {k.removeprefix("geometry."): int(v) for k, v in op.params.items()}
    depthwise = op.kind == OpKind.DepthwiseConv2d
    return _windows(p, config, depthwise and _taps(p) <= config.taps)


def _fully_connected(model: EdgeModel, op: OpRecord, config: Config) -> Layer | str:
    rows, k, n = (int(op.params[name]) for name in ("rows", "k", "n"))
    if max(k, n) > 0xFFFF:
        return "it is too wide"
    ones = ("in_w", "out_w", "batch", "groups", "kernel_h", "kernel_w", "stride_h", "stride_w")
    p = dict.fromkeys((*ones, "dilation_h", "dilation_w"), 1)
    p |= {"in_h": rows, "out_h": rows, "in_c": k, "out_c": n, "pad_top": 0, "pad_left": 0}
    return _windows(p, config, False)


def _taps(p: dict[str, int]) -> int:
    return p["kernel_h"] * ((p["kernel_w"] - 1) * p["dilation_w"] + 1)


def _phases(p: dict[str, int]) -> list[int]:
    """Input rows that come in before each output row."""
    span = (p["kernel_h"] - 1) * p["dilation_h"] + 1
    last = (p["out_h"] - 1) * p["stride_h"] + span - p["pad_top"]
    end, loaded, rows = min(p["in_h"], max(last, 0)), 0, []
    for y in range(p["out_h"]):
        need = max(loaded, min(end, y * p["stride_h"] - p["pad_top"] + span))
        rows.append(need - loaded)
        loaded = need
    return rows


def _windows(p: dict[str, int], config: Config, depthwise: bool) -> Layer | str:
    line = p["in_w"] * p["in_c"]
    line_words = _ceil(line, config.word)
    span_h = (p["kernel_h"] - 1) * p["dilation_h"] + 1
    span_w = (p["kernel_w"] - 1) * p["dilation_w"] + 1
    if config.line_words // line_words < span_h + p["stride_h"]:
        return (
            f"its input lines take {line_words} words and {span_h + p['stride_h']} of them are "
            f"needed at a time; the line buffer has {config.line_words} (EK_LINE_WORDS)"
        )
    reach = (p["out_w"] * p["stride_w"] + p["kernel_w"] * p["dilation_w"] + p["pad_left"]) * p[
        "in_c"
    ]
    if max(line, reach) >= _LIMIT:
        return "it is too large"
    lines = p["batch"] * p["out_h"]
    pixels = lines * p["out_w"]
    if depthwise:
        tiles = _ceil(p["out_c"], config.lanes)
        steps = _ceil(_taps(p), config.vec)
        columns = (p["out_w"] - 1) * p["stride_w"] + span_w
        emits = columns * p["kernel_h"]
        first, later = span_w * p["kernel_h"], p["stride_w"] * p["kernel_h"]
        a_line = first + (p["out_w"] - 1) * max(later, steps) + steps
        mac, weights = lines * a_line + steps, tiles * steps
    else:
        inputs, outputs = p["in_c"] // p["groups"], p["out_c"] // p["groups"]
        merged = p["dilation_w"] == 1 and p["groups"] == 1
        tiles = _ceil(outputs, config.lanes) * p["groups"]
        run = p["kernel_w"] * inputs if merged else inputs
        parts = (1 if merged else p["kernel_w"]) * _ceil(run, config.vec)
        steps, emits = p["kernel_h"] * parts, p["out_w"] * p["kernel_h"] * parts
        if steps * tiles * config.vec * config.lanes >= _LIMIT:
            return "its weights are too large"
        mac = pixels * steps
        weights = tiles * steps * (1 if steps <= config.weight_words else pixels)
    if pixels >= _LIMIT or emits >= _LIMIT:
        return "it is too large"
    loads = [rows * line_words for rows in _phases(p)]
    window = sum(max(a, emits) for a in loads[1:]) + loads[0] + emits
    taps = p["kernel_h"] * p["kernel_w"] * (p["in_c"] // p["groups"])
    return Layer(
        tiles=tiles,
        read_words=p["batch"] * sum(loads),
        window_cycles=p["batch"] * window,
        mac_cycles=mac,
        weight_words=weights,
        sums=pixels,
        pool_cycles=pixels,
        written=pixels,
        macs=pixels * p["out_c"] * taps,
    )


def _add(model: EdgeModel, op: OpRecord, config: Config) -> Layer | str:
    total = model.tensors[op.outputs[0]].nbytes
    if any(model.tensors[i].nbytes != total for i in op.inputs):
        return "it broadcasts"
    words = _ceil(total, config.lanes)
    return Layer(1, 2 * words, 2 * words, 2 * words, 0, words, words, words, 0)


def _pool(model: EdgeModel, op: OpRecord, config: Config) -> Layer | str:
    p = {k.removeprefix("geometry."): int(v) for k, v in op.params.items()}
    span = (p["kernel_h"] - 1) * p["dilation_h"] + 1
    slots = config.pool_words // p["in_w"]
    if slots < span or slots < p["stride_h"]:
        return (
            f"its lines of {p['in_w']} pixels do not fit, {max(span, p['stride_h'])} at a time, "
            f"the pooling buffer of {config.pool_words} (EK_POOL_WORDS)"
        )
    pixels = p["batch"] * p["in_h"] * p["in_w"]
    out = p["batch"] * p["out_h"] * p["out_w"]
    reduced = out * p["kernel_h"] * p["kernel_w"]
    if pixels >= _LIMIT:
        return "it is too large"
    tiles = _ceil(p["in_c"], config.lanes)
    return Layer(tiles, pixels, pixels, pixels, 0, pixels, pixels + reduced, out, 0)


_KINDS: dict[OpKind, Callable[[EdgeModel, OpRecord, Config], Layer | str]] = {
    OpKind.Conv2d: _conv,
    OpKind.DepthwiseConv2d: _conv,
    OpKind.FullyConnected: _fully_connected,
    OpKind.Add: _add,
    OpKind.MaxPool2d: _pool,
    OpKind.AvgPool2d: _pool,
}

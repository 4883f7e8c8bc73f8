"""A Pad becomes part of the convolution or pooling behind it."""

from __future__ import annotations

import numpy as np

from ...ir import Node
from ...ops.reduction.pool import spans
from .._links import Links
from .._pass import NodePass


class FusePad(NodePass):
    """A constant Pad of rows and columns only, read by nobody else, in front of

    1. Conv2d: if it pads with 0;
    2. AvgPool2d: if it pads with 0, the pool has no pads or counts them, and no window leaves the
       padded input (such a window would be divided by fewer elements);
    3. MaxPool2d: if each window holds an element of the input, and the border cannot win: it is
       -inf, or 0 in front of values clamped at 0.
    """

    name = "pad fusion"

    def rewrite(self, links: Links, node: Node) -> bool:
        if node.op not in ("Conv2d", "AvgPool2d", "MaxPool2d"):
            return False
        pad = links.private(node.input(0), "Pad")
        if pad is None or pad.attrs["mode"] != "constant" or len(pad.output.shape) != 4:
            return False
        before, after = pad.attrs["before"], pad.attrs["after"]
        if before[0] or before[3] or after[0] or after[3]:
            return False
        extra = (before[1], before[2], after[1], after[2])
        pads = tuple(a + b for a, b in zip(node.attrs["pads"], extra, strict=True))
        value = float(pad.attrs["value"])
        more: dict[str, object] = {"pads": pads}
        if node.op == "Conv2d":
            fits = value == 0
        elif node.op == "AvgPool2d":
            counted = not any(node.attrs["pads"]) or bool(node.attrs["count_include_pad"])
            fits = value == 0 and counted and _windows_fit(node)
            more["count_include_pad"] = True
        else:
            fits = _never_wins(links, pad, value) and _windows_touch(node, pad, pads)
        if not fits:
            return False
        links.rewire(node, [pad.input(0), *node.inputs[1:]], **more)
        return True


def _windows_fit(pool: Node) -> bool:
    return not any(span.leaves_padding for span in spans(pool))


def _windows_touch(pool: Node, pad: Node, pads: tuple[int, ...]) -> bool:
    """Whether every window holds an element of what is in front of `pad`."""
    merged = Node(pool.op, [pad.input(0)], pool.outputs, {**pool.attrs, "pads": pads})
    return all(int(span.counts().min()) > 0 for span in spans(merged))


def _never_wins(links: Links, pad: Node, value: float) -> bool:
    if np.isneginf(value):
        return True
    made_by = links.producer(pad.input(0))
    if value != 0 or made_by is None:
        return False
    low = made_by.attrs.get("min" if made_by.op == "Clip" else "act_min", -np.inf)
    return bool(low >= 0)

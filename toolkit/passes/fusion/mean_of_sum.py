"""A sum over so many elements is their mean, times their number."""

from __future__ import annotations

from math import isclose, prod

import numpy as np

from ...ir import Node
from .._links import Links
from .._pass import NodePass
from ..affine import both_ways, clamps, scalar


class MeanOfSum(NodePass):
    """ReduceSum(x) / n, or times 1 / n, of n elements each is ReduceMean(x), as jax writes it out.

    Unless something else reads the sum. n may have the error of one rounding to float32.
    """

    name = "mean of sum"

    def rewrite(self, links: Links, node: Node) -> bool:
        if node.op not in ("Mul", "Div") or node.output.dtype != np.float32 or clamps(node):
            return False
        for total, by in both_ways(node) if node.op == "Mul" else both_ways(node)[:1]:
            reduced, number = links.private(total, "ReduceSum"), scalar(by)
            if reduced is None or not number or node.output.shape != total.shape:
                continue
            x = reduced.input(0)
            count = prod(x.shape[a] for a in reduced.attrs["axes"])
            if isclose(number if node.op == "Div" else 1 / number, count, rel_tol=1e-6):
                mean = links.emit(node, "ReduceMean", [x], dict(reduced.attrs), node.output.name)
                links.replace(node, mean)
                return True
        return False

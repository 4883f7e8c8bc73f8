"""A Scan that computes distances between rows, as skl2onnx writes the CDist of com.microsoft."""

from __future__ import annotations

import onnx

_SQUARES = ("ReduceSumSquare",)
_SIZES = ("Abs", "ReduceSum")


def as_distances(node: onnx.NodeProto) -> list[onnx.NodeProto] | None:
    """The nodes that do what this Scan does; None for another Scan.

    Its body is handed the rows x [N, features] as state, which it passes on, and a row of y
    [M, features]; it subtracts them and sums the squares, or the magnitudes, along the features.
    The second output is [M, N].
    """
    body = next((a.g for a in node.attribute if a.name == "body"), None)
    scanned = next((a.i for a in node.attribute if a.name == "num_scan_inputs"), 0)
    plain = {"body", "num_scan_inputs"}
    if body is None or scanned != 1 or any(a.name not in plain for a in node.attribute):
        return None
    metric = _metric(body)
    if metric is None or len(node.input) != 2 or len(node.output) != 2:
        return None
    x, y = node.input
    state, found = node.output
    make = onnx.helper.make_node
    made = [make("CDist", [y, x], [found], f"{node.name}", domain="com.microsoft", metric=metric)]
    return [make("Identity", [x], [state]), *made] if state else made


def _metric(body: onnx.GraphProto) -> str | None:
    if len(body.input) != 2 or len(body.output) != 2:
        return None
    x, row = (i.name for i in body.input)
    made = {o: n for n in body.node for o in n.output}

    def source(name: str) -> str:
        while name in made and made[name].op_type == "Identity":
            name = made[name].input[0]
        return name

    if source(body.output[0].name) != x:
        return None
    ops, name = [], source(body.output[1].name)
    while name in made and made[name].op_type != "Sub":
        ops.append(made[name])
        name = source(made[name].input[0])
    if name not in made or {source(i) for i in made[name].input} != {x, row}:
        return None
    sums = [n for n in ops if n.op_type.startswith("Reduce")]
    if len(sums) != 1 or not _over_features(body, sums[0]):
        return None
    kinds = tuple(n.op_type for n in reversed(ops))
    return {_SQUARES: "sqeuclidean", _SIZES: "cityblock"}.get(kinds)


def _over_features(body: onnx.GraphProto, node: onnx.NodeProto) -> bool:
    attrs = {a.name: a for a in node.attribute}
    axes = list(attrs["axes"].ints) if "axes" in attrs else []
    for constant in body.initializer:
        if len(node.input) > 1 and constant.name == node.input[1]:
            axes = [int(v) for v in onnx.numpy_helper.to_array(constant)]
    return axes in ([1], [-1]) and "keepdims" in attrs and attrs["keepdims"].i == 0

"""The steps of a Loop whose condition follows from constants, as in TensorFlow's while loops."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

from ...ir import Array, Value
from ..subgraphs import has_subgraphs, live_nodes

MOST_COUNTED = 8192
"""Steps of a Loop that is run to count them."""

Fold = Callable[[onnx.NodeProto, dict[str, Array]], list[Array] | None]
"""The outputs of a node on constants by name; None if nobody can tell."""


def steps_of(
    fold: Fold,
    body: onnx.GraphProto,
    inputs: Sequence[Value | None],
    scope: Mapping[str, Any],
) -> int | None:
    """How many steps the Loop of this body takes; None if its condition is always the same, depends
    on what is not known yet, or holds for more than MOST_COUNTED steps.

    Runs a Loop of the nodes alone that the condition depends on: a counter, as a rule.
    """
    trips, condition = [*inputs, None, None][:2]
    ports = [p.name for p in body.input]
    wanted, kept = [body.output[0].name], list[int]()
    while True:
        nodes = live_nodes(body, wanted)
        read = {name for node in nodes for name in node.input} | set(wanted)
        more = [i for i, p in enumerate(ports[2:]) if p in read and i not in kept]
        if not more:
            break
        kept += more
        wanted += [body.output[1 + i].name for i in more]
    if any(has_subgraphs(node) for node in nodes) or not (kept or ports[0] in read):
        return None
    made = {name for node in nodes for name in node.output}
    own = {t.name: numpy_helper.to_array(t) for t in body.initializer if t.name in read}
    around = {name: scope.get(name) for name in read - made - set(own) - set(ports) - {""}}
    given = {"go": condition, **{f"start.{i}": inputs[2 + i] for i in kept}}
    if condition is None:
        del given["go"]
    known = {
        name: v.const
        for name, v in {**around, **given}.items()
        if isinstance(v, Value) and v.const is not None
    }
    if len(known) < len(around) + len(given):
        return None
    most = MOST_COUNTED + 1
    if trips is not None and trips.const is not None:
        most = min(most, int(trips.const.ravel()[0]))
    arrays = {"trips": np.array(most, np.int64), "go": np.array(True)}
    arrays |= {name: known[name] for name in given}
    step = f"{ports[0]}.step"
    counter = helper.make_graph(
        [*nodes, helper.make_node("Identity", [ports[0]], [step])],
        "steps",
        [*body.input[:2], *(body.input[2 + i] for i in kept)],
        [*(o for n in wanted for o in body.output if o.name == n),
         helper.make_tensor_value_info(step, onnx.TensorProto.INT64, [])],
        [numpy_helper.from_array(a, n)
         for n, a in {**own, **{n: known[n] for n in around}}.items()],
    )  # fmt: skip
    results = [*(f"last.{i}" for i in kept), "steps"]
    loop = helper.make_node("Loop", list(arrays), results, body=counter)
    found = fold(loop, arrays)
    steps = None if found is None else len(found[-1])
    return steps if steps is not None and steps <= MOST_COUNTED else None

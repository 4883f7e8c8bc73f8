"""States of a Loop that no step changes, as TensorFlow hands weights to its loops."""

from __future__ import annotations

import onnx


def unchanged(body: onnx.GraphProto, states: int) -> list[int]:
    """Which of so many states the body of a Loop gives back as they were."""
    same = {n.output[0]: n.input[0] for n in body.node if n.op_type == "Identity" and not n.domain}
    found = []
    for i in range(states):
        name = body.output[1 + i].name
        while name in same:
            name = same[name]
        if name == body.input[2 + i].name:
            found.append(i)
    return found


def without(body: onnx.GraphProto, states: list[int]) -> onnx.GraphProto:
    """The body with these states' names for something around it."""
    changed = onnx.GraphProto()
    changed.CopyFrom(body)
    del changed.input[:], changed.output[:]
    changed.input.extend(v for i, v in enumerate(body.input) if i - 2 not in states)
    changed.output.extend(v for i, v in enumerate(body.output) if i - 1 not in states)
    return changed

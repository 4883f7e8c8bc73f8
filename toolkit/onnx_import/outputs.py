"""The outputs of an imported graph: what each is as a port, and its name."""

from __future__ import annotations

import onnx

from ..errors import Problem
from ..ir import Graph, Port, Value
from ..numerics import STRING, WIDE
from .attributes import RUNTIME_TYPE, runtime_array
from .builder import GraphBuilder
from .limits import MAX_RANK


class Outputs:
    """Makes the ports of `graph`; what is wrong with one is added to `problems`."""

    def __init__(self, graph: Graph, build: GraphBuilder, problems: list[Problem]) -> None:
        self._graph, self._build, self._problems = graph, build, problems

    def port(self, info: onnx.ValueInfoProto, value: Value) -> Port | None:
        """The port of the output `info`; None if it is refused, or empty."""
        element, labels = info.type.tensor_type.elem_type, self._build.labels_of(value)
        if info.type.HasField("sequence_type") and labels is not None:  # a ZipMap's maps
            element = onnx.TensorProto.FLOAT
        elif element == STRING and labels is None:
            why = "its strings are not labels that the model names"
            self._problems.append(Problem(info.name, "output", why, "leave it out"))
            return None
        elif not info.type.HasField("tensor_type") or element not in RUNTIME_TYPE:
            self._problems.append(Problem(info.name, "output", "its type is not supported"))
            return None
        if len(value.shape) > MAX_RANK:
            why = f"it has {len(value.shape)} dimensions; at most {MAX_RANK} are supported"
            self._problems.append(Problem(info.name, "output", why, "reshape it outside the model"))
            return None
        if value.type.size == 0:
            self._graph.empty_outputs.append(Port(info.name, value, element, value.shape))
            return None
        fed = any(port.value is value for port in self._graph.inputs)
        if fed or value.const is not None:
            try:
                value = self._copied(value, info.name)
            except ValueError as why:
                self._problems.append(Problem(info.name, "output", str(why)))
                return None
        of_text = element == STRING or info.type.HasField("sequence_type")
        return Port(info.name, value, element, value.shape, labels or () if of_text else ())

    def _copied(self, value: Value, name: str) -> Value:
        """A value of its own for an output that is an input or a constant."""
        if value.const is not None:
            value = self._build.constant(runtime_array(value.const), name)
        self._build.scope = name
        if value.dtype in WIDE:
            return self._build.emit("Cast", [value], to=value.dtype)
        return self._build.emit(
            "Copy", [value], dims=(value.type.size,), strides=(1,), offset=0, shape=value.shape
        )

    def name_values(self) -> None:
        """Values of outputs get the outputs' names, where a value is one output only."""
        inputs = {port.name for port in self._graph.inputs}
        renamed: set[Value] = set()
        for port in self._graph.outputs:
            if port.value not in renamed and port.name not in inputs:
                for other in self._graph.values():
                    if other.name == port.name and other is not port.value:
                        other.name = self._build.unique(port.name)
                port.value.name = port.name
                renamed.add(port.value)

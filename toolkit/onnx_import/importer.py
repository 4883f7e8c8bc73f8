"""The walk over an ONNX graph: fold what is known, let the operators build the rest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx

from ..errors import Problem, UnsupportedError
from ..ir import Array, Graph, Port, Shape, TensorType, Value
from ..numerics import BFLOAT16, FLOAT, INT32, INT64, OF_NUMPY, STRING, numpy_dtype
from ..ops import FROM_ONNX
from ..ops._opdef import OnnxNode, Unsupported
from ..passes import OTHER_LAYOUT
from .attributes import (
    RUNTIME_TYPE,
    python_attributes,
    qualified,
    type_name,
)
from .bounds import Bounds
from .builder import GraphBuilder
from .constants import as_cast, can_fold, fold, in_float32, one_node
from .control import CONTROL, ControlFlow
from .control.regions import Regions
from .distances import as_distances
from .inferred import infer_types
from .labels import vocabulary
from .onnx_process import OnnxError
from .outputs import Outputs
from .qdq.grids import Quantized
from .qdq.operators import QuantizedOperators
from .qdq.qoperators import READ
from .refusals import display_name, refusal
from .sequences import Items, Sequences
from .source import OnnxModel, sentence
from .subgraphs import all_names, live_nodes
from .upgrade import OLDEST, RENAMED, refuse_changed, upgrade
from .widths import ARITHMETIC, Narrow, doubles, mentions, wide_types, widened


@dataclass(frozen=True)
class _Lost:
    """What stands for a value whose node was refused, so that the walk finds all problems."""


Binding = Value | Quantized | Items | _Lost
Scope = dict[str, Binding]


class Importer:
    """One model's import."""

    def __init__(self, source: OnnxModel, lazily: bool) -> None:
        self._source, self._label = source, source.label
        model = self._model = source.proto
        self._opsets = {
            "" if o.domain == "ai.onnx" else o.domain: o.version for o in model.opset_import
        }
        self._graph = Graph()
        self._build = GraphBuilder(self._graph, all_names(model.graph))
        self._problems: list[Problem] = []
        self._inferred: dict[str, TensorType] | None = None
        self._elements: dict[str, int] = {}
        self._shapes: dict[str, Shape] = {}
        self._named: set[Value] = set()
        self._narrow = Narrow()
        self._bounds = Bounds(self._build)
        self._sequences = Sequences(self._build)
        regions = Regions(self._build, self._walk, self._problems)
        self._control = ControlFlow(
            self._build, self._walk, self._inferred_shape, self._evaluate, regions, lazily
        )
        self._names: set[str] = set()
        self._walked = model.graph
        self._wide = wide_types(model)
        self._has_bfloat16 = mentions(model, BFLOAT16)
        self._quantized = QuantizedOperators(self._build, READ)

    def run(self, shapes: Mapping[str, Shape]) -> Graph:
        """The graph, or UnsupportedError with all problems."""
        scope: Scope = {}
        for info in self._source.real_inputs():
            scope[info.name] = self._input(info, shapes)
        for name, array in self._source.weights.items():
            self._bind_constant(scope, name, array)
        self._walk(self._model.graph, scope)
        outputs = Outputs(self._graph, self._build, self._problems)
        ports = []
        for info in self._model.graph.output:
            value = scope[info.name]
            if isinstance(value, Items):
                why = "it is a sequence or an optional value"
                self._problems.append(Problem(info.name, "output", why, "give tensors"))
            elif not isinstance(value, _Lost):
                plain = value.integers if isinstance(value, Quantized) else value
                ports.append(outputs.port(info, plain))
        if self._problems:
            raise UnsupportedError(self._label, self._problems)
        self._graph.outputs = [port for port in ports if port is not None]
        self._bounds.count(self._graph)
        outputs.name_values()
        if not self._wide:
            for name in doubles([*self._model.graph.input, *self._model.graph.output]):
                self._narrow.double(name)
        self._graph.notes = [
            *self._source.notes, *self._narrow.notes(self._graph), *self._bounds.notes(),
            *self._control.notes,
        ]  # fmt: skip
        return self._graph

    def _input(self, info: onnx.ValueInfoProto, shapes: Mapping[str, Shape]) -> Binding:
        if not info.type.HasField("tensor_type"):
            of = str(info.type.WhichOneof("value")).removesuffix("_type")
            why = f"an input of type {of} is not supported"
            self._problems.append(Problem(info.name, "input", why, "give tensors"))
            return _Lost()
        element = info.type.tensor_type.elem_type
        if element not in RUNTIME_TYPE:
            why = f"an input of type {type_name(element)} is not supported"
            self._problems.append(
                Problem(info.name, "input", why, "do this step outside the model")
            )
            return _Lost()
        if 0 in shapes[info.name]:
            array = np.zeros(shapes[info.name], numpy_dtype(element))
            value = Value(info.name, TensorType(array.dtype, array.shape), array)
            self._graph.empty_inputs.append(Port(info.name, value, element, value.shape))
            return value
        kind = self._wide.get(element, RUNTIME_TYPE[element])
        value = Value(info.name, TensorType(kind, shapes[info.name]))
        self._graph.inputs.append(Port(info.name, value, element, value.shape))
        self._elements[info.name] = element
        self._named.add(value)
        self._quantized.elements[value] = element
        self._graph.inputs[-1].labels = self._source.columns.get(info.name, ())
        if element != STRING:
            return value
        texts = vocabulary(self._model.graph)
        if not texts:
            why = "the model names no strings that its input could hold"
            self._problems.append(Problem(info.name, "input", why, "encode them before the model"))
            return _Lost()
        self._graph.inputs[-1].labels = texts
        return self._build.label(value, texts)

    def _walk(self, graph: onnx.GraphProto, scope: Scope) -> None:
        for tensor in graph.initializer:
            try:
                self._bind_constant(scope, tensor.name, onnx.numpy_helper.to_array(tensor))
            except (ValueError, TypeError) as fault:
                scope[tensor.name] = _Lost()
                text = f"it is damaged: {fault}"
                self._problems.append(Problem(tensor.name, "initializer", text))
        for sparse in graph.sparse_initializer:
            scope[sparse.values.name] = _Lost()
            why = "sparse tensors are not supported"
            self._problems.append(Problem(sparse.values.name, "initializer", why, "make it dense"))
        around, self._walked = self._walked, graph
        for node in live_nodes(graph):
            self._visit(node, scope)
        self._walked = around

    def _bind_constant(self, scope: Scope, name: str, array: Array) -> None:
        if array.dtype in self._wide.values() and array.size:
            scope[name] = widened(self._build, array, name)
        else:
            scope[name] = Value(name, TensorType(array.dtype, array.shape), array)

    def _visit(self, node: onnx.NodeProto, scope: Scope) -> None:
        inputs = [scope[name] if name else None for name in node.input]
        try:
            if node.op_type == "Scan" and (simpler := as_distances(node)) is not None:
                for each in simpler:
                    self._visit(each, scope)
                return
            self._refuse_changed(node)
            if self._visit_quantized(node, inputs, scope):
                return
            plain: list[Any] = [v.integers if isinstance(v, Quantized) else v for v in inputs]
            if self._visit_sequence(node, plain, scope):
                return
            outputs = self._model.graph.output if self._walked is self._model.graph else ()
            number = self._bounds.measured(node, plain, self._walked, outputs)
            if number is not None:
                scope[node.output[0]] = self._settle(number, node.output[0])
                return
            folded = self._fold(node, plain)
            if folded is not None:
                for name, array in zip(node.output, folded, strict=True):
                    if name:
                        self._bind_constant(scope, name, array)
                return
            name = qualified(node)
            if name in CONTROL:
                self._expand(node, plain, scope)
                return
            if not any(name in known for known in (FROM_ONNX, READ, RENAMED, STATIC)):
                raise _Refused(refusal(node))
            known = [v for v in plain if not isinstance(v, _Lost)]
            if len(known) < len(plain):
                raise _Refused(None)
            made = self._convert(node, known)
            self._bounds.follow(node, known, made)
            if node.op_type in KEEPS_LABELS:
                texts = self._labels(known)
                made = [v if texts is None else self._build.label(v, texts) for v in made]
            for name, value in zip(node.output, made, strict=False):
                if name and value.type.size:
                    scope[name] = self._settle(self._as_in_onnx(node, name, value), name)
                elif name:  # there is nothing to compute
                    self._bind_constant(scope, name, np.zeros(value.shape, value.dtype))
        except _Refused as why:
            self._refuse(why.problem, node, scope)
        except Unsupported as why:
            problem = Problem(display_name(node), qualified(node), why.why, why.remedy)
            self._refuse(problem, node, scope)
        except ValueError as why:
            remedy = self._source.shape_remedy
            self._refuse(
                Problem(display_name(node), qualified(node), str(why), remedy), node, scope
            )
        except (ArithmeticError, LookupError, TypeError, AssertionError):
            # The checker does not count: too few inputs, attributes shorter than the axes. What the
            # shape inference of onnx takes, we should: then the fault is ours.
            fault = self._fault(node, inputs)
            if fault is None:
                raise
            text = f"its inputs or attributes do not fit together: {fault}"
            remedy = ", or ".join(
                filter(None, [self._source.shape_remedy, "export the model again"])
            )
            self._refuse(Problem(display_name(node), qualified(node), text, remedy), node, scope)

    def _visit_quantized(self, node: onnx.NodeProto, inputs: Sequence[Any], scope: Scope) -> bool:
        """Whether the node is about quantized tensors, and is in the graph now."""
        known = [v for v in inputs if not isinstance(v, _Lost)]
        if len(known) < len(inputs):
            return False
        self._build.scope = next((name for name in node.output if name), node.name)
        found = self._quantized.visit(node, known, lambda values: self._convert(node, values))
        for name, made in (found or {}).items():
            scope[name] = self._settle(made, name) if isinstance(made, Value) else made
        return found is not None

    def _visit_sequence(self, node: onnx.NodeProto, inputs: Sequence[Any], scope: Scope) -> bool:
        """Whether the node is about sequences or optional values, and is read now."""
        if node.op_type in CONTROL or any(isinstance(v, _Lost) for v in inputs):
            return False
        found = self._sequences.visit(node, inputs)
        if found is None:
            return False
        is_new = isinstance(found, Value) and found.const is None and not found.name
        scope[node.output[0]] = self._settle(found, node.output[0]) if is_new else found
        return True

    def _labels(self, inputs: Sequence[Value | None]) -> tuple[str, ...] | None:
        """The labels that all inputs of strings have."""
        found = {None if v is None else self._build.labels_of(v) for v in inputs}
        first = None if inputs[0] is None else self._build.labels_of(inputs[0])
        return first if found <= {first, None} else None

    def _as_in_onnx(self, node: onnx.NodeProto, name: str, value: Value) -> Value:
        if value.const is None and value.dtype == FLOAT and node.op_type != "Cast":
            if not self._has_bfloat16 or self._element(name, None) != BFLOAT16:
                return value
            return self._build.emit("Cast", [value], to=FLOAT, element=BFLOAT16)
        if value.dtype not in (INT32, INT64) or node.op_type not in (*ARITHMETIC, "Cast"):
            return value
        if node.op_type == "Cast":
            element: int | None = next((a.i for a in node.attribute if a.name == "to"), None)
        else:
            element = self._element(name, None)
        return self._narrow.result(self._build, node, value, element)

    def _element(self, name: str, value: Value | None) -> int | None:
        """The element type that ONNX has of a tensor; None if nobody knows it."""
        if value is not None and value.const is not None:
            return OF_NUMPY[value.dtype].onnx if value.dtype in OF_NUMPY else None
        if name not in self._elements:
            self._inferred_type(name)
        return self._elements.get(name)

    def _refuse_changed(self, node: onnx.NodeProto) -> None:
        if node.domain in ("", "ai.onnx") and onnx.defs.has(node.op_type):
            refuse_changed(node.op_type, self._opsets.get("", 1))

    def _fault(self, node: onnx.NodeProto, inputs: Sequence[Binding | None]) -> str | None:
        """What onnx has against the node; None if nothing."""
        values = {n: v for n, v in zip(node.input, inputs, strict=True) if isinstance(v, Value)}
        try:
            self._source.engine.infer_shapes(
                one_node(node, self._model.opset_import, values), strict=True
            )
        except OnnxError as why:
            return sentence(why)
        return None

    def _convert(self, node: onnx.NodeProto, inputs: list[Value | None]) -> list[Value]:
        domain = "" if node.domain == "ai.onnx" else node.domain
        plain = OnnxNode(
            node.op_type, domain, self._opsets.get(domain, 1), node.name,
            [in_float32(v) for v in inputs], list(node.output), python_attributes(node),
            lambda i: self._element(node.input[i], inputs[i]),
            lambda i: self._inferred_shape(node.output[i]),
        )  # fmt: skip
        self._build.scope = next((name for name in node.output if name), node.name)
        plain, finish = upgrade(self._build, plain)
        # An adapter may rename the operator (Upsample is a Resize).
        key = f"{domain}.{plain.op}" if domain else plain.op
        return finish(FROM_ONNX[key].from_onnx(self._build, plain))

    def _fold(
        self, node: onnx.NodeProto, inputs: Sequence[Value | _Lost | None]
    ) -> list[Array] | None:
        if node.op_type in STATIC and isinstance(inputs[0], Value):
            shape = np.array(inputs[0].shape, np.int64)
            if node.op_type == "Size":
                return [np.array(shape.prod(), np.int64)]
            attrs = python_attributes(node)
            return [shape[slice(attrs.get("start"), attrs.get("end"))]]
        if node.op_type == "CastLike" and isinstance(inputs[1], Value):
            element = self._element(node.input[1], inputs[1])
            if element is not None:
                node, inputs = as_cast(node, element), inputs[:1]
        arrays: dict[str, Array] = {}
        for name, v in zip(node.input, inputs, strict=True):
            if isinstance(v, _Lost | Items) or (v is not None and v.const is None):
                return None
            if v is not None and v.const is not None:
                arrays[name] = v.const
        legacy = any(a.name in ("broadcast", "consumed_inputs") for a in node.attribute)
        if not can_fold(node) or (legacy and self._opsets.get("", 1) < OLDEST):
            return None
        return self._evaluate(node, arrays)

    def _evaluate(self, node: onnx.NodeProto, arrays: dict[str, Array]) -> list[Array] | None:
        return fold(self._source.engine, node, self._model.opset_import, arrays)

    def _expand(self, node: onnx.NodeProto, inputs: Sequence[Any], scope: Scope) -> None:
        """Control flow: its bodies' nodes take its place."""
        known: list[Any] = [v for v in inputs if v is None or isinstance(v, Value | Items)]
        if len(known) < len(inputs):
            raise _Refused(None)
        for name, value in self._control.expand(node, known, scope).items():
            computed = isinstance(value, Value) and value.const is None
            scope[name] = self._settle(value, name) if computed else value

    def _settle(self, value: Value, name: str) -> Value:
        """Give a new value its ONNX tensor's name, and its form in another layout a kindred one."""
        if value.const is None and value not in self._named:
            value.name = name if name not in self._names else self._build.unique(name)
            self._names.add(name)
            self._named.add(value)
            node = next((n for n in reversed(self._build.graph.nodes) if n.output is value), None)
            if node is not None and node.op in ("Transpose", "Reshape"):
                source = node.input(0)
                if source.const is None and source not in self._named:
                    source.name = self._build.unique(name + OTHER_LAYOUT)
        return value

    def _refuse(self, problem: Problem | None, node: onnx.NodeProto, scope: Scope) -> None:
        if problem is not None:
            self._problems.append(problem)
        for name in node.output:
            if name:
                kind = self._inferred_type(name)
                scope[name] = _Lost() if kind is None else Value(name, kind)

    def _inferred_shape(self, name: str) -> Shape | None:
        self._inferred_type(name)
        return self._shapes.get(name)

    def _inferred_type(self, name: str) -> TensorType | None:
        """The type of a refused node's output, if ONNX can tell it."""
        if self._inferred is None:
            self._inferred, elements, self._shapes = infer_types(self._source)
            self._elements = elements | self._elements
        return self._inferred.get(name)


KEEPS_LABELS = frozenset(
    ("Identity", "Reshape", "Flatten", "Squeeze", "Unsqueeze", "Transpose", "Concat", "Gather",
     "Slice", "ArrayFeatureExtractor")
)  # fmt: skip
"""Operators that move strings as they are."""

STATIC = ("Shape", "Size")
"""Operators that need only the type of their input."""


class _Refused(Exception):  # noqa: N818 - a verdict, not a fault
    """The node cannot be served; `problem` is None if the fault is an earlier node's."""

    def __init__(self, problem: Problem | None) -> None:
        super().__init__()
        self.problem = problem

"""The float graph that corresponds to a quantized file, and the file's numbers by its names.

Tensors have the same names in both; channels that the file lost because they were constant are put
back.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ..build import forget_lasting
from ..errors import UserError
from ..format.model import ABSENT, NUMPY_OF, EdgeModel, OpRecord, TensorRecord
from ..format.schema import DType, Place
from ..ir import Array, Graph, Node, QuantParams, Value
from ..numerics import INTEGERS
from ..ops import definition
from ..ops._weighted import WeightedOp
from ..quantize import prepared_floats
from ..quantize.scheme.reuse import Reuse
from ..quantize.weights.bias_correction import mean_output
from ..runtime import return_freed
from .side_by_side import kept_channels
from .softmax_resolution import source_of

FLOAT = np.dtype(np.float32)


@dataclass
class SimulatedModel:
    """A file and its float graph.

    quant      by tensor of the graph, and "X.int8", "X.int16", "X.for.Y" for what is inserted
    constants  by tensor of the graph, and operand of the node that makes it: what the file holds
               in place of the float constant, in real numbers
    kept       channels that the file has of a tensor, where it lost some
    floats     operators of the file that read or make float32
    once       what simulations of it have in common
    """

    graph: Graph
    model: EdgeModel
    quant: dict[str, QuantParams] = field(default_factory=dict)
    constants: dict[str, dict[int, Array]] = field(default_factory=dict)
    kept: dict[str, NDArray[np.bool_]] = field(default_factory=dict)
    floats: set[str] = field(default_factory=set)
    once: Reuse = field(default_factory=Reuse)

    @cached_property
    def made_by(self) -> dict[Value, Node]:
        return self.graph.producers()

    @cached_property
    def runs_as(self) -> dict[str, OpRecord]:
        """The file's operator that does a node's work, by the node's output: a Reshape and the
        inside of a table are done by what reads them."""
        ops = {op.name: op for op in self.model.ops}
        readers = self.graph.consumers()
        found: dict[str, OpRecord] = {}
        for node in reversed(self.graph.nodes):
            for v in node.outputs:
                after = [r.output.name for r in readers.get(v, [])]
                for name in (v.name, *after):
                    if name in ops or name in found:
                        found[v.name] = ops[name] if name in ops else found[name]
                        break
        return found

    @cached_property
    def roots(self) -> dict[str, str]:
        """What each of the file's operators reads first, by names."""
        values = {p.name: p.value.name for p in self.graph.inputs}
        names = {io.tensor: values[io.name] for io in self.model.inputs if io.name in values}
        names |= {t: op.name for op in self.model.ops for t in op.outputs[:1]}
        return {op.name: names[op.inputs[0]] for op in self.model.ops if op.inputs[0] in names}

    def forget(self) -> None:
        """Let go of what simulations have in common, and of what that is in files."""
        self.once.clear()
        forget_lasting()
        return_freed()

    def source(self, v: Value) -> Value:
        """The tensor whose bytes `v` is: a Reshape does not run."""
        return source_of(v, self.made_by)

    def moves(self, node: Node) -> bool:
        """Whether it puts out steps of its inputs as they are: it rounds nothing itself."""
        if not definition(node.op).shared or node.attrs.get("mode") == "linear":
            return False
        quants = set[QuantParams | None]()
        for v in node.dynamic_inputs:
            name = self.source(v).name
            quants.add(self.quant.get(f"{name}.for.{node.output.name}") or self.quant.get(name))
        return quants == {self.quant.get(node.output.name)}


def simulated_model_of(model: EdgeModel, graph: Graph) -> SimulatedModel:
    """The file `model` beside the float `graph` that was quantized: optimized, and equalized as it
    was.

    Raises UserError for a file packed for a target: its weights are not read back.
    """
    if model.target != "generic":
        raise UserError(
            f"the file is packed for {model.target}, and its weights cannot be read back; use the "
            "generic file that edgekit quantize wrote"
        )
    simulated_model = SimulatedModel(prepared_floats(graph), model)
    tensors = model.tensors
    values = {p.name: p.value for p in simulated_model.graph.inputs}
    for io in model.inputs:
        if tensors[io.tensor].scale and io.name in values:
            simulated_model.quant[values[io.name].name] = params_of(tensors[io.tensor])
    simulated_model.kept = kept_channels(model)
    for op in model.ops:
        out = tensors[op.outputs[0]]
        if out.scale:
            simulated_model.quant[op.name] = params_of(out)
        used = [tensors[t] for t in (*op.inputs, *op.outputs) if t != ABSENT]
        if any(t.dtype == DType.Float32 for t in used):
            simulated_model.floats.add(op.name)
    ops = {op.name: op for op in model.ops}
    for node in simulated_model.graph.nodes:
        op_of = ops.get(node.output.name)
        if op_of is not None and op_of.name not in simulated_model.floats:
            simulated_model.constants[op_of.name] = _constants(simulated_model, node, op_of)
    return simulated_model


def own_biases(
    model: SimulatedModel, means: Mapping[str, NDArray[np.float64]]
) -> dict[str, dict[int, Array]]:
    """By the output of a node with weights, its bias (operand 2) corrected for the mean error of
    the file's weights alone; `means` are those of the channels of its float input, by its name.

    The file's biases also make up for the mean errors of a layer's inputs (of harmless clipping,
    for example): with these its weights alone, on float inputs, have an error that the file has
    not.
    """
    found: dict[str, dict[int, Array]] = {}
    for node in model.graph.nodes:
        held = model.constants.get(node.output.name, {})
        if definition(node.op).weight is None or not {1, 2} <= held.keys():
            continue
        weight, given = node.input(1).const, node.inputs[2] if len(node.inputs) > 2 else None
        if weight is None or node.input(0).name not in means:
            continue
        bias = 0.0 if given is None or given.const is None else given.const.astype(np.float64)
        lost = held[1].astype(np.float64) - weight
        own = bias - mean_output(node, lost, means[node.input(0).name])
        found[node.output.name] = {2: own.astype(np.float32)}
    return found


def base_of(name: str) -> str:
    """The tensor of the float graph that a file's tensor holds: X of "X.int8" or "X.for.Y"."""
    for dtype in INTEGERS:
        name = name.removesuffix(f".{dtype}")
    return name.split(".for.")[0]


def params_of(t: TensorRecord) -> QuantParams:
    """How a quantized tensor of a file is to be read."""
    if t.dtype == DType.Int16:
        return QuantParams.int16(t.scale)
    return QuantParams((t.scale,), t.zero_point)


def _constants(simulated_model: SimulatedModel, node: Node, op: OpRecord) -> dict[int, Array]:
    meaning = definition(node.op)
    if isinstance(meaning, WeightedOp):
        return _weights(simulated_model, meaning, node, op)
    found: dict[int, Array] = {}
    for i, (v, t) in enumerate(zip(node.inputs, op.inputs, strict=False)):
        if v is None or v.const is None or v.dtype != FLOAT or t == ABSENT:
            continue
        record = simulated_model.model.tensors[t]
        if record.place == Place.Blob and record.scale and record.shape == v.shape:
            dtype = NUMPY_OF[record.dtype]
            raw = np.frombuffer(simulated_model.model.blob, dtype, v.type.size, record.offset)
            found[i] = params_of(record).dequantize(raw.reshape(v.shape))
    return found


def _weights(
    simulated_model: SimulatedModel, meaning: WeightedOp, node: Node, op: OpRecord
) -> dict[int, Array]:
    """Weight and bias. What the file has not, because it was constant, is as in the float graph
    where it is made, and 0 where it is summed: there it is in the bias."""
    tensors = simulated_model.model.tensors
    if tensors[op.inputs[0]].dtype == DType.Float32:
        return {}
    x, y = params_of(tensors[op.inputs[0]]), params_of(tensors[op.outputs[0]])
    stored = meaning.stored(node, op.kind, op.params, simulated_model.model.blob, x, y)
    if stored is None:
        return {}
    weight, given = node.input(1).const, node.inputs[2] if len(node.inputs) > 2 else None
    assert weight is not None
    real = weight.astype(np.float32)
    bias = np.zeros(len(real), np.float32)
    if given is not None and given.const is not None:
        bias[:] = given.const
    rows = simulated_model.kept.get(op.name, np.ones(len(real), np.bool_))
    columns = np.ones(real.shape[-1], np.bool_)
    of_inputs = simulated_model.kept.get(simulated_model.source(node.input(0)).name)
    if of_inputs is not None and len(of_inputs) == real.shape[-1]:
        columns = of_inputs
        real[..., ~columns] = 0
    part = real[rows]
    if stored.weight.shape != (*part.shape[:-1], int(columns.sum())):
        return {}
    part[..., columns] = stored.weight
    real[rows], bias[rows] = part, stored.bias
    return {1: real, 2: bias}

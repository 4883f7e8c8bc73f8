"""Recurrent layers: the runtime gives the bytes of docs/arithmetic.md, written once more."""

import numpy as np
import pytest

from edgekit.toolkit.build import build_file
from edgekit.toolkit.format.schema import RecurrentCell, RecurrentFn, RecurrentOutput
from edgekit.toolkit.ir import Graph, Node, Port, QuantParams, TensorType, Value, constant
from edgekit.toolkit.ops.recurrent._fixed import fixed_of
from edgekit.toolkit.ops.recurrent._functions import CellFunction
from edgekit.toolkit.runtime import Session, kernel_tables
from edgekit.toolkit.weight_codecs import Storage

from . import recurrent as oracle

CASES = [
    (RecurrentCell.Rnn, 1, {}),
    (RecurrentCell.Gru, 3, {}),
    (RecurrentCell.Gru, 3, {"reset_after": True, "reverse": True}),
    (RecurrentCell.Lstm, 4, {"reverse": True}),
    (RecurrentCell.Lstm, 4, {"coupled": True}),
    (RecurrentCell.Lstm, 4, {"peepholes": 0.3}),
    (RecurrentCell.Lstm, 4, {"peepholes": 2.0, "reverse": True, "clip": 1.5}),
    (RecurrentCell.Lstm, 4, {"cell_limit": 1.25}),
    (RecurrentCell.Lstm, 4, {"peepholes": 2.0, "cell_limit": 0.75}),
    (RecurrentCell.Lstm, 4, {"peepholes": 0.0, "coupled": True}),
]


NARROW = {"storage": Storage("Nibbles")}
OF_4_BITS = [(cell, gates, {**attrs, **NARROW}) for cell, gates, attrs in CASES[:4]]


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("cell", "gates", "attrs"), CASES + OF_4_BITS)
def test_the_oracle_agrees(cell, gates, attrs, seed):
    rng, hidden = np.random.default_rng(seed), 7 + seed
    x = Value("x", TensorType(np.dtype(np.int16), (6, 2, gates * hidden)))
    x.quant = QuantParams.int16(3.0 ** -(5 + seed))
    real = rng.normal(0, 0.3, (gates * hidden, hidden)).astype(np.float32)
    bias = np.zeros(gates * hidden, np.float32)
    if attrs.get("reset_after"):
        bias[2 * hidden :] = rng.normal(0, 0.5, hidden)
    attrs, peep = dict(attrs), None
    if (size := attrs.pop("peepholes", None)) is not None:
        peep = constant(rng.normal(0, size, 3 * hidden).astype(np.float32), "p")
    operands = [constant(real, "r"), constant(bias, "b") if bias.any() else None, peep]
    y = Value("y", TensorType(x.dtype, (6, 2, hidden)), quant=QuantParams.int16(2.0**-15))
    functions = (RecurrentFn.Sigmoid, RecurrentFn.Tanh, RecurrentFn.Tanh)
    count = {RecurrentCell.Rnn: 1, RecurrentCell.Gru: 2, RecurrentCell.Lstm: 3}[cell]
    given = dict.fromkeys(("reverse", "reset_after", "coupled"), False)
    given |= {"clip": 0.0, "cell_limit": 0.0}
    given |= {"gate_quant": QuantParams.int16(7.3 / 32767), "gives": (RecurrentOutput.Hidden,)}
    if cell == RecurrentCell.Lstm:
        given["cell_quant"] = QuantParams.int16(2.7 / 32767)
    given |= {"cell": cell, "functions": tuple(map(CellFunction, functions[-count:]))}
    node = Node("Recurrent", [x, None, None, None, *operands], [y], {**given, **attrs}, "y")
    q = rng.integers(-32767, 32768, x.shape).astype(np.int16)
    graph = Graph([node], [Port("x", x, 5, x.shape)], [Port("y", y, 5, y.shape)])
    wanted = oracle.recurrent(node, q, fixed_of(node).tables)
    for table in kernel_tables():
        found = Session(build_file(graph), table).run_raw({"x": q})["y"]
        np.testing.assert_array_equal(found, wanted, err_msg=table)

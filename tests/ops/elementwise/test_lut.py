"""Tables on int8 against the function itself, on every kernel table."""

from __future__ import annotations

import numpy as np
import pytest

from edgekit.toolkit.build import build_file
from edgekit.toolkit.format.reader import read
from edgekit.toolkit.interpret import interpret
from edgekit.toolkit.ir import Graph, Node, Port, QuantParams, TensorType, Value, constant
from edgekit.toolkit.ops import definition
from edgekit.toolkit.ops.elementwise.lut import SIZES, make_table
from edgekit.toolkit.retarget import retarget
from edgekit.toolkit.runtime import Session, kernel_tables

from ..conftest import graph_of


@pytest.mark.parametrize("count", [1, 15, 64, 257, 1000])
def test_every_length_is_looked_up(integers, count):
    x = integers.value((count,), 0.05, 3)
    table = constant(integers.rng.integers(-128, 128, 256).astype(np.int8), "table")
    node = integers.node("Lut", [x, table], QuantParams((0.1,), 0))
    data = integers.data(x)
    got = integers.agree(node, {x: data})
    assert np.array_equal(got, table.const[data.astype(int) + 128])


def test_a_table_is_the_function_to_half_a_step():
    x, y = QuantParams((0.05,), -10), QuantParams((1 / 256,), -128)
    q = np.arange(-128, 128)
    table = make_table(lambda r: 1 / (1 + np.exp(-r)), x, y)
    exact = 256 / (1 + np.exp(-(q + 10) * 0.05)) - 128
    assert np.abs(table - np.clip(exact, -128, 127)).max() <= 0.5


def test_requantization_to_the_same_scale_is_the_identity():
    x = QuantParams((0.037,), 11)
    assert np.array_equal(make_table(lambda r: r, x, x), np.arange(-128, 128))


@pytest.mark.parametrize("count", [1, 15, 65536])
def test_int16_is_interpolated(integers, count):
    x = integers.value16((count,))
    steep = integers.rng.choice(np.array([-32768, 32767]), 513)
    values = np.where(integers.rng.random(513) < 0.2, steep, integers.rng.integers(-9, 9, 513))
    table = constant(values.astype(np.int16), "table")
    node = integers.node("Lut", [x, table], QuantParams.int16(0.1))
    q = np.arange(-32768, 32768)[-count:].astype(np.int16)
    got = integers.agree(node, {x: q})
    exact = np.interp(q.astype(float), np.arange(-32768, 32769, 128), values)
    assert np.abs(got - exact).max() <= 0.5


FUNCTIONS = {
    "sigmoid": (lambda x: 1 / (1 + np.exp(-x)), 8.0, 1.0),
    "tanh": (np.tanh, 4.0, 1.0),
    "silu": (lambda x: x / (1 + np.exp(-x)), 8.0, 8.0),
    "leaky": (lambda x: np.where(x < 0, x / 8, x), 3.0, 3.0),
    "relu": (lambda x: np.maximum(x, 0), 3.0, 3.0),
    "affine": (lambda x: 0.3 * x - 0.1, 5.0, 2.0),
    "exp": (np.exp, 2.0, 7.5),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_an_int16_table_is_the_function_to_two_steps(integers, name):
    fn, reach, most = FUNCTIONS[name]
    x, y = integers.value16((65536,), reach / 32767), QuantParams.int16(most / 32767)
    table = make_table(fn, x.quant, y)
    q = np.arange(-32768, 32768).astype(np.int16)
    got = integers.agree(integers.node("Lut", [x, constant(table, "t")], y), {x: q})
    exact = np.clip(fn(q * x.quant.scalar) / y.scalar, -32767, 32767)
    assert np.abs(got - exact).max() <= 2


def test_lines_are_on_both_sides_of_a_bend(integers):
    """They miss a parabola by half of what lines through its points would miss it by."""
    x, y = QuantParams.int16(1.0), QuantParams.int16(1.0)
    table = make_table(lambda r: (r / 400) ** 2, x, y).astype(np.float64)
    q = np.arange(-32768, 32768)
    error = np.interp(q, np.arange(-32768, 32769, 128), table) - (q / 400) ** 2
    assert (128 / 400) ** 2 / 4 < 0.03 and np.abs(error).max() <= 0.53


def test_where_an_int16_function_is_no_number_it_is_zero():
    table = make_table(np.sqrt, QuantParams.int16(0.001), QuantParams.int16(0.001))
    assert not table[:255].any() and table[-1] == round(32.768**0.5 / 0.001)


def channel_lut(integers, x, tables):
    """(a Lut of `x` with random tables, the tables, their index: as many channels as can be)."""
    size = SIZES[x.dtype]
    limits = np.iinfo(x.dtype)
    values = integers.rng.integers(limits.min, limits.max + 1, (tables, size)).astype(x.dtype)
    index = integers.rng.integers(0, tables, x.shape[-1]).astype(np.uint8)
    index[-1] = tables - 1
    operands = [x, constant(values, "tables"), constant(index, "index")]
    out = QuantParams((0.1,), 0) if x.dtype == np.int8 else QuantParams.int16(0.1)
    return integers.node("Lut", operands, out), values, index


@pytest.mark.parametrize("tables", [1, 2, 3, 4, 5, 9, 256])
@pytest.mark.parametrize("channels", [1, 3, 16, 17, 70, 200])
def test_channels_have_tables(integers, channels, tables):
    x = integers.value((2, 3, 5, channels), 0.05, 3)
    node, values, index = channel_lut(integers, x, tables)
    data = integers.data(x)
    got = integers.agree(node, {x: data})
    for c, k in enumerate(index):
        assert np.array_equal(got[..., c], values[k][data[..., c].astype(int) + 128])


@pytest.mark.parametrize("tables", [1, 2, 5])
@pytest.mark.parametrize("channels", [1, 3, 16, 17, 70])
def test_channels_have_int16_tables(integers, channels, tables):
    x = integers.value16((4, 9, channels))
    node, values, index = channel_lut(integers, x, tables)
    data = integers.data(x)
    got = integers.agree(node, {x: data})
    for c, k in enumerate(index):
        q = data[..., c].astype(float)
        exact = np.interp(q, np.arange(-32768, 32769, 128), values[k])
        assert np.abs(got[..., c] - exact).max() <= 0.5


def test_one_table_for_all_channels_is_the_plain_one(integers):
    x = integers.value((7, 5))
    node, values, _ = channel_lut(integers, x, 1)
    data = integers.data(x)
    plain = integers.node("Lut", [x, constant(values[0], "table")], QuantParams((0.1,), 0))
    assert np.array_equal(integers.agree(node, {x: data}), integers.agree(plain, {x: data}))


@pytest.mark.parametrize("wide", [False, True])
def test_a_chain_of_tables_by_channel_runs_in_place(integers, wide):
    x = (integers.value16 if wide else integers.value)((6, 35))
    first, _, _ = channel_lut(integers, x, 3)
    again = Node("Lut", [first.output, *first.inputs[1:]], [Value("y", x.type, quant=x.quant)], {})
    first.output.name = "between"
    kind = 5 if wide else 3
    graph = Graph([first, again], [Port("x", x, kind, x.shape)],
                  [Port("y", again.output, kind, x.shape)])  # fmt: skip
    data = integers.data(x)
    want = interpret(graph, {"x": data})["y"]
    file = build_file(graph)
    assert read(file).memory.arena_bytes < 2 * x.type.nbytes
    for table in kernel_tables():
        assert np.array_equal(Session(file, table).run_raw({"x": data})["y"], want)


def test_tables_by_channel_stay_what_they_are_in_a_file_for_a_target(integers):
    node, values, index = channel_lut(integers, integers.value((6, 35)), 3)
    data = build_file(graph_of(node))
    model = read(retarget(data, read(data), "cortex_m_mve"))
    params = model.ops[0].params
    assert model.blob[params["index"] :][: index.nbytes] == index.tobytes()
    assert model.blob[params["table"] :][: values.nbytes] == values.tobytes()


def test_a_table_must_be_256_constants():
    x = Value("x", TensorType(np.dtype(np.int8), (4,)))
    with pytest.raises(ValueError, match="256 constant int8"):
        definition("Lut").infer(Node("Lut", [x, constant(np.zeros(255, np.int8), "t")], []))
    x = Value("x", TensorType(np.dtype(np.int16), (4,)))
    with pytest.raises(ValueError, match="513 constant int16"):
        definition("Lut").infer(Node("Lut", [x, constant(np.zeros(256, np.int16), "t")], []))


@pytest.mark.parametrize(
    ("tables", "index", "why"),
    [
        ((2, 256), [0, 1, 2], r"goes up to 2; there are 2 tables"),
        ((2, 256), [0, 1], r"must be 3 constant uint8"),
        ((2, 255), [0, 1, 0], r"int8\[K, 256\]"),
        ((256,), [0, 0, 0], r"int8\[K, 256\]"),
        ((257, 256), [0, 1, 0], r"of at most 256"),
        ((0, 256), [0, 0, 0], r"there are 0 tables"),
    ],
)
def test_every_channel_must_have_a_table(tables, index, why):
    x = Value("x", TensorType(np.dtype(np.int8), (4, 3)))
    operands = [
        x,
        constant(np.zeros(tables, np.int8), "t"),
        constant(np.array(index, np.uint8), "i"),
    ]
    with pytest.raises(ValueError, match=why):
        definition("Lut").infer(Node("Lut", operands, []))


def test_an_index_needs_channels():
    x = Value("x", TensorType(np.dtype(np.int8), ()))
    operands = [x, constant(np.zeros((1, 256), np.int8), "t"), constant(np.zeros(1, np.uint8), "i")]
    with pytest.raises(ValueError, match="a scalar has no channels"):
        definition("Lut").infer(Node("Lut", operands, []))

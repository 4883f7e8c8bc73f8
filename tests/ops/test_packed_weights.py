"""Weights of a few bits: the int8 kernels of every table on what is read from packed ones."""

from dataclasses import replace
from itertools import pairwise, repeat

import numpy as np
import pytest

from edgekit.toolkit.build import build_model
from edgekit.toolkit.errors import UserError
from edgekit.toolkit.format.schema import DType, OpKind
from edgekit.toolkit.format.writer import write
from edgekit.toolkit.inspection import describe
from edgekit.toolkit.ir import Graph, QuantParams, TensorType, constant
from edgekit.toolkit.numerics import INT16, WEIGHT_TYPES, Precision
from edgekit.toolkit.ops import definition
from edgekit.toolkit.runtime import Session, kernel_tables
from edgekit.toolkit.weight_codecs import Storage, stored_int8
from edgekit.toolkit.weight_codecs.packed import effective

from .conftest import graph_of
from .conv.test_conv2d import conv_node
from .matmul.test_fully_connected import fc_node

GROUPS = [0, 1, 3, 16, 32]
WIDE = pytest.mark.parametrize("wide", [False, True], ids=["int8", "int16"])


NARROW = [w for w in WEIGHT_TYPES.values() if w.bits < 8]
BITS = pytest.mark.parametrize("kind", NARROW, ids=lambda w: w.codec)


def made_narrow(rng, node, kind, group):
    """The node with weights of `kind`, and multipliers of `group` weights unless that is 0."""
    w = node.input(1)
    flat = w.const.reshape(len(w.const), -1)
    z = rng.integers(-kind.limit, kind.limit + 1, flat.shape).astype(np.int8)
    multipliers = None
    if group:
        shape = (len(flat), -(-flat.shape[1] // group))
        multipliers = rng.integers(1, 17, shape).astype(np.uint8)
    node.attrs["storage"] = Storage(kind.codec, group, multipliers)
    weights = effective(z, group, multipliers)
    node.inputs[1] = constant(weights.reshape(w.const.shape), "w", w.quant)
    return node


def is_narrow(op, model, sort, wide):
    """Whether it is the operator of this name with packed weights beside these activations."""
    element = DType.Int16 if wide else DType.Int8
    return op.kind == OpKind[sort] and op.is_coded and model.element(op) == element


def agree_unpacked_at_every_run(integers, node):
    """Results of files for one table alone, whose weights stay packed in the session too."""
    data = {v: integers.data(v) for v in node.dynamic_inputs}
    operands = [None if v is None else data.get(v, v.const) for v in node.inputs]
    want = definition(node.op).integer(node, operands)[0]
    _, model = lowered(node)
    for name in kernel_tables():
        session = Session(write(replace(model, target=name)), name)
        got = session.run_raw({v.name: a for v, a in data.items()})["out"]
        np.testing.assert_array_equal(got, want, err_msg=f"kernels {name}")


def lowered(node):
    """The file's one operator, and its model."""
    model = build_model(graph_of(node))
    (op,) = model.ops
    return op, model


CONVOLUTIONS = {
    "1x1": ((2, 5, 6, 7), (9, 1, 1, 7), {}),
    "3x3": ((1, 9, 8, 12), (33, 3, 3, 12), {"pads": (1, 1, 1, 1)}),
    "odd": ((1, 7, 7, 3), (5, 3, 3, 3), {"stride": (2, 2), "pads": (1, 0, 0, 1)}),
    "grouped": ((2, 6, 5, 8), (12, 3, 2, 4), {"groups": 2, "dilation": (2, 1)}),
    "blocks": ((1, 4, 4, 300), (21, 3, 3, 300), {"pads": (1, 1, 1, 1)}),
    "narrow": ((1, 12, 11, 6), (7, 5, 3, 6), {"pads": (2, 1, 2, 1), "act_min": 0.0}),
    "depthwise": ((2, 9, 8, 19), (19, 3, 3, 1), {"groups": 19, "pads": (1, 1, 1, 1)}),
    "depthwise 5x5": ((1, 9, 9, 64), (64, 5, 5, 1), {"groups": 64, "stride": (2, 2)}),
    "depthwise in blocks": (
        (2, 5, 6, 300),
        (300, 3, 3, 1),
        {"groups": 300, "pads": (1, 1, 1, 1)},
    ),
    "depthwise apart": (
        (1, 9, 7, 5),
        (5, 3, 3, 1),
        {"groups": 5, "dilation": (2, 3), "pads": (2, 3, 1, 0)},
    ),
}


def some_of_each(rng, wide):
    return (
        fc_node(rng, (3, 7), 5, wide=wide),
        conv_node(rng, (1, 7, 7, 3), (5, 3, 3, 3), wide=wide),
        conv_node(rng, (1, 9, 8, 19), (19, 3, 3, 1), groups=19, wide=wide),
    )


@BITS
@WIDE
@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_convolutions_agree_with_the_reference(integers, name, group, wide, kind):
    shape, weights, attrs = CONVOLUTIONS[name]
    node = conv_node(integers.rng, shape, weights, wide=wide, **attrs)
    node = made_narrow(integers.rng, node, kind, group)
    assert is_narrow(*lowered(node), "Conv2d", wide)
    integers.agree(node)
    agree_unpacked_at_every_run(integers, node)


@BITS
@WIDE
@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize(("shape", "n"), [((1, 1), 1), ((3, 7), 5), ((4, 130), 70), ((1, 5000), 9)])
def test_fully_connected_agrees_with_the_reference(integers, shape, n, group, wide, kind):
    node = made_narrow(integers.rng, fc_node(integers.rng, shape, n, wide=wide), kind, group)
    assert is_narrow(*lowered(node), "FullyConnected", wide)
    integers.agree(node)
    agree_unpacked_at_every_run(integers, node)


@BITS
@WIDE
def test_where_there_is_memory_a_session_holds_unpacked_weights(integers, wide, kind):
    for node in some_of_each(integers.rng, wide):
        _, model = lowered(made_narrow(integers.rng, node, kind, 16))
        for name in kernel_tables():
            packed = replace(model, target=name)
            held, run = (Session(write(m), name).memory_bytes for m in (model, packed))
            assert held - run >= node.input(1).const.size if name != "ref" else held == run


@WIDE
def test_unpacking_takes_no_more_memory_than_one_operator(integers, wide):
    """Of a codec whose rows are multiplied as they are stored: others have a block beside."""
    kind = WEIGHT_TYPES[4]
    nodes = [made_narrow(integers.rng, fc_node(integers.rng, (1, 96), 96, wide=wide), kind, 16)
             for _ in range(4)]  # fmt: skip
    for i, (node, after) in enumerate(pairwise(nodes)):
        after.inputs[0], node.output.name, node.name = node.output, f"y{i}", f"fc{i}"
    ports = graph_of(nodes[0]).inputs, graph_of(nodes[-1]).outputs
    feed = {v.name: integers.data(v) for v in nodes[0].dynamic_inputs}
    files = []
    for attrs in (node.attrs for node in nodes), repeat({}):
        same = [replace(n, attrs=a) for n, a in zip(nodes, attrs, strict=False)]
        files.append(write(build_model(Graph(same, *ports))))
    for name in kernel_tables():
        four, eight = (Session(data, name) for data in files)
        assert np.array_equal(four.run_raw(feed)["out"], eight.run_raw(feed)["out"])
        assert four.memory_bytes <= eight.memory_bytes + 96 * 96


@pytest.mark.parametrize("fill", [-32768, 32767])
@pytest.mark.parametrize("k", [256, 257, 4096, 70_000])
@pytest.mark.parametrize("group", [0, 32])
@pytest.mark.parametrize("rows", [2, 5])
def test_sums_of_the_largest_products_on_int16(integers, rows, group, k, fill):
    """Far beyond int32, so that kernels must widen: +-30,000 is what they are scaled to."""
    node = fc_node(integers.rng, (rows, k), 2, wide=True, bias=False)
    multipliers = np.full((2, -(-k // group)), 16, np.uint8) if group else None
    node.attrs["storage"] = Storage("Nibbles", group, multipliers)
    most = 7 * (16 if group else 1)
    weights = np.repeat(np.array([[most], [-most]], np.int8), k, axis=1)
    node.inputs[1] = constant(weights, "w", QuantParams((0.1, 0.1), axis=0))
    steps = abs(fill) * most * k / 30_000
    node.output.quant = QuantParams.int16(steps * 0.1 * node.input(0).quant.scalar)
    got = integers.agree(node, {node.input(0): np.full((rows, k), fill, np.int16)})
    assert np.abs(got - np.sign(fill) * np.array([30_000, -30_000])).max() <= 1


@BITS
@WIDE
@pytest.mark.parametrize("group", GROUPS)
def test_the_file_gives_the_weights_back(integers, group, wide, kind):
    rng = integers.rng
    for node in some_of_each(rng, wide):
        op, model = lowered(made_narrow(rng, node, kind, group))
        flat = stored_int8(op.kind, op.params, model.blob)
        stored = definition(node.op).stored_weights(node, op.params, flat)
        np.testing.assert_array_equal(stored, node.input(1).const)


@BITS
@WIDE
def test_the_file_gives_weights_and_biases_back_in_real_numbers(integers, wide, kind):
    for node in some_of_each(integers.rng, wide):
        op, model = lowered(made_narrow(integers.rng, node, kind, 16))
        x, y, w, b = node.input(0).quant, node.output.quant, node.input(1), node.input(2)
        stored = definition(node.op).stored(node, op.kind, op.params, model.blob, x, y)
        scales = np.array(w.quant.scale)
        real = w.const * scales.reshape(-1, *[1] * (w.const.ndim - 1))
        np.testing.assert_allclose(stored.weight, real, rtol=1e-6)
        np.testing.assert_allclose(stored.bias, b.const * scales * x.scalar, rtol=1e-6)


@BITS
@WIDE
@pytest.mark.parametrize("multiplier", [0, 17, 255])
def test_a_multiplier_that_makes_no_int8_is_refused(integers, multiplier, wide, kind):
    for node in some_of_each(integers.rng, wide):
        op, model = lowered(made_narrow(integers.rng, node, kind, 3))
        Session(write(model))
        last = op.params["codec.auxiliary"] + node.attrs["storage"].multipliers.size - 1
        blob = bytearray(model.blob)
        blob[last] = multiplier
        with pytest.raises(UserError):
            Session(write(replace(model, blob=bytes(blob))))


@BITS
@WIDE
def test_weights_or_tables_that_end_behind_the_file_are_refused(integers, wide, kind):
    for node in some_of_each(integers.rng, wide):
        op, model = lowered(made_narrow(integers.rng, node, kind, 3))
        for field in ("weights", "codec.auxiliary", "requant.table"):
            params = {**op.params, field: len(model.blob) // 4 * 4 - 4}
            with pytest.raises(UserError):
                Session(write(replace(model, ops=[replace(op, params=params)])))


@BITS
def test_a_float_has_no_packed_weights(integers, kind):
    node = made_narrow(integers.rng, fc_node(integers.rng, (1, 8), 4), kind, 0)
    node.input(0).type = TensorType(np.dtype(np.float32), (1, 8))
    with pytest.raises(ValueError, match="no weights behind a codec in float32"):
        definition(node.op).lower(node, None)


@BITS
def test_what_may_have_narrow_weights_on_int16(integers, kind):
    precision = Precision(INT16, kind.bits)
    for node in some_of_each(integers.rng, True):
        assert definition(node.op).problem(node, precision) is None
    for name in ("ConvTranspose2d", "MatMul", "Add"):
        why = definition(name).problem(None, precision)
        assert why == f"{name} has no {kind.bits}-bit weights"


@BITS
@WIDE
def test_weights_take_a_part_of_the_bytes(integers, wide, kind):
    node = fc_node(integers.rng, (1, 512), 64, wide=wide)
    whole = lowered(node)
    packed = lowered(made_narrow(integers.rng, node, kind, 0))
    saved = len(whole[1].blob) - len(packed[1].blob)
    tight = whole[0].params["requant.tight"], packed[0].params["requant.tight"]
    assert saved == 512 * 64 * (8 - kind.bits) // 8 + (tight[0] % 64 - tight[1] % 64) * 64 // 8


@BITS
@WIDE
def test_inspect_says_the_bits(integers, wide, kind):
    _, model = lowered(
        made_narrow(integers.rng, fc_node(integers.rng, (1, 8), 4, wide=wide), kind, 4)
    )
    (op,) = describe(write(model), "m").ops
    dtype = f"int16x{kind.bits}" if wide else f"int{kind.bits}"
    assert (op.operator, op.dtype, op.macs) == ("FullyConnected", dtype, 32)


@BITS
@pytest.mark.parametrize(
    ("group", "multipliers", "message"),
    [
        (0, None, "no integers of"),
        (4, None, r"multipliers are not \[4, 2\]"),
        (4, np.full((4, 3), 1, np.uint8), r"\[4, 2\]"),
        (4, np.full((4, 2), 17, np.uint8), r"outside \[1, 16\]"),
        (4, np.full((4, 2), 16, np.uint8), "do not divide"),
    ],
)
def test_weights_that_do_not_fit_are_refused(integers, group, multipliers, message, kind):
    node = fc_node(integers.rng, (1, 8), 4)
    node.attrs["storage"] = Storage(kind.codec, group, multipliers)
    with pytest.raises(ValueError, match=message):
        lowered(node)

"""What is said of operators in a file: words, element types, work, sizes."""

import pytest

from edgekit.toolkit.format import describe
from edgekit.toolkit.format import model as m
from edgekit.toolkit.format.schema import (
    STRUCTS,
    DType,
    OpKind,
    Place,
    RecurrentCell,
    WeightCodec,
)

GEOMETRY = {
    f"geometry.{name}": value
    for name, value in {
        "batch": 2, "in_h": 3, "in_w": 5, "in_c": 14, "out_h": 11, "out_w": 13, "out_c": 34,
        "kernel_h": 17, "kernel_w": 19, "groups": 2,
    }.items()
}  # fmt: skip
DEPTHWISE = {f"geometry.{name}": 5 for name in ("in_c", "out_c", "groups")}


def op(kind, inputs, outputs, **params):
    return m.OpRecord(kind, "", inputs, outputs, params)


def coded(codec, x, y):
    return op(OpKind.Conv2d, (x,), (y,), **GEOMETRY, **{"codec.id": int(codec)})


TENSORS = [
    m.TensorRecord((4,), dtype, place, 0)
    for dtype, place in (
        (DType.Int8, Place.Arena),
        (DType.Int16, Place.Blob),
        (DType.Float32, Place.Persistent),
        (DType.Int16, Place.Arena),
    )
]
OPS = {
    "Lut int8": op(OpKind.ChannelLut, (0,), (0,)),
    "Lut int16": op(OpKind.Lut, (3,), (3,)),
    "Conv2d int8": coded(WeightCodec.Plain, 0, 0),
    "DepthwiseConv2d int8": op(OpKind.Conv2d, (0,), (0,), **DEPTHWISE),
    "Dequantize int8": op(OpKind.Dequantize, (0,), (2,)),
    "Quantize int16": op(OpKind.Dequantize, (2,), (3,)),
    "Conv2d int16": coded(WeightCodec.Plain, 3, 3),
    "Conv2d int4": coded(WeightCodec.Nibbles, 0, 0),
    "Conv2d int16x2": coded(WeightCodec.Crumbs, 3, 3),
    "Cast float32": op(OpKind.Convert, (0,), (2,)),  # which takes any type
    "Copy int16": op(OpKind.Copy, (3,), (3,)),
}


def model(ops):
    memory = m.Memory(0, 0, 0, 0, 0)
    return m.EdgeModel(TENSORS, list(ops), [], [], memory, bytes(77))


@pytest.mark.parametrize("said", OPS)
def test_an_operator_is_called_by_its_type_and_element(said):
    one = OPS[said]
    whole = model([one])
    assert f"{describe.op_type(whole, one)} {describe.op_dtype(whole, one)}" == said


def test_a_code_of_int8_is_int8():
    one = coded(WeightCodec.Huffman, 0, 0)
    assert describe.op_dtype(model([one]), one) == "int8"


def test_operators_are_counted_in_the_order_of_their_names():
    some = [*OPS.values(), OPS["Conv2d int8"]]
    said = describe.op_counts(model(some[::-1]))
    assert said["Conv2d"] == {"int16": 1, "int16x2": 1, "int4": 1, "int8": 2}
    kinds = ["Cast", "Conv2d", "Copy", "DepthwiseConv2d", "Dequantize", "Lut", "Quantize"]
    assert list(said) == kinds
    assert list(said["Conv2d"]) == sorted(said["Conv2d"])


def test_bytes_of_weights_and_tensors_of_the_arena():
    assert describe.weight_bytes(model([])) == 77
    assert describe.arena_tensors(model([])) == [0, 3]


SIZES = {"batch": 2, "rows": 3, "k": 5, "n": 7, "steps": 11, "hidden": 13}


@pytest.mark.parametrize(
    ("kind", "params", "wanted"),
    [
        (OpKind.Conv2d, GEOMETRY, 2 * 11 * 13 * 34 * 17 * 19 * 7),
        (OpKind.ConvTranspose2d, GEOMETRY, 2 * 3 * 5 * 14 * 17 * 19 * 17),
        (OpKind.FullyConnected, SIZES, 3 * 5 * 7),
        (OpKind.MatMul, SIZES, 2 * 3 * 5 * 7),
        (OpKind.Recurrent, SIZES | {"cell": int(RecurrentCell.Rnn)}, 11 * 2 * 1 * 13 * 13),
        (OpKind.Recurrent, SIZES | {"cell": int(RecurrentCell.Gru)}, 11 * 2 * 3 * 13 * 13),
        (OpKind.Recurrent, SIZES | {"cell": int(RecurrentCell.Lstm)}, 11 * 2 * 4 * 13 * 13),
        (OpKind.Add, SIZES, 0),
    ],
)
def test_products_are_counted(kind, params, wanted):
    assert describe.macs(kind, params) == wanted


def test_bytes_moved_are_those_of_tensors_weights_and_tables():
    """Of two operators that share a table at 64: one reads a tensor twice, one has no weights."""
    full = {name: 0 for name in STRUCTS["FullyConnected"][1]} | {"weights": 0, "requant.table": 64}
    ops = [
        m.OpRecord(OpKind.FullyConnected, "", (0,), (3,), full),
        op(OpKind.Lut, (0,), (0,), table=64, count=4),
        op(OpKind.Mul, (2, 2), (2,)),
        op(OpKind.Where, (0, m.ABSENT, 1), (3,)),
    ]
    moved = describe.bytes_moved(model(ops))
    assert moved == [4 + 8 + 77, 4 + 13, 16, 4 + 8 + 8]
